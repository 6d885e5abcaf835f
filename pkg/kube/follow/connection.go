package follow

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// lossTold is how long a connection is lost before anybody is told: a server ends
// Each watch after a while, and the next one comes about at once.
const lossTold = 2 * time.Second

// Connection notes whether the server can be reached, for several watches at the
// same time. Nil notes nothing.
type Connection struct {
	// Changed is told since when there is no connection; zero, there is one again.
	Changed func(lost time.Time)

	mu   sync.Mutex
	lost time.Time
	told bool
}

// note takes in the error of a request. A server that refuses is there.
func (c *Connection) note(err error) {
	switch {
	case Transient(err):
		c.lose()
	case err == nil, errors.As(err, new(apierrors.APIStatus)):
		c.regain()
	}
}

// watched takes in a watch that came about, and notes when it ends. Instead of an
// error the client returns a watch that has ended where the server hung up. What
// ends with the context was not lost.
func (c *Connection) watched(ctx context.Context, w watch.Interface) watch.Interface {
	if c == nil {
		return w
	}
	if reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		c.lose()
		return w
	}
	c.regain()
	events := make(chan watch.Event)
	passed := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		for {
			select {
			case event, more := <-w.ResultChan():
				if !more {
					if ctx.Err() == nil {
						c.lose()
					}
					return
				}
				select {
				case events <- event:
				case <-passed.StopChan():
					return
				}
			case <-passed.StopChan():
				return
			}
		}
	}()
	return passed
}

// lose notes that there is no connection, and tells so if it does not come back.
func (c *Connection) lose() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lost.IsZero() {
		return
	}
	lost := time.Now()
	c.lost = lost
	time.AfterFunc(lossTold, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lost.Equal(lost) && !c.told {
			c.told = true
			c.Changed(lost)
		}
	})
}

// regain notes that there is a connection.
func (c *Connection) regain() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = time.Time{}
	if c.told {
		c.told = false
		c.Changed(time.Time{})
	}
}
