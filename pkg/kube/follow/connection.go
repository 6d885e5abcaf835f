package follow

import (
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// lossTold is how long a connection must be lost before that is told: a server ends each watch
// after a while, and the next one begins at once.
const lossTold = 2 * time.Second

// Connection notes whether the server can be reached, for several watches at the same time.
// Nil notes nothing.
type Connection struct {
	// Changed is told since when the connection is lost; zero, there is one again.
	Changed func(lost time.Time)

	mu   sync.Mutex
	lost time.Time
	told bool
}

// note notes the error of a request. A server that refuses can be reached.
func (c *Connection) note(err error) {
	switch {
	case Transient(err):
		c.lose()
	case err == nil, errors.As(err, new(apierrors.APIStatus)):
		c.regain()
	}
}

// watched notes that a watch began. If the server hangs up, the client returns a watch that has
// ended and no error.
func (c *Connection) watched(w watch.Interface) {
	if reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		c.lose()
	} else {
		c.regain()
	}
}

// lose notes that the connection is lost. If it does not come back, it tells so.
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
