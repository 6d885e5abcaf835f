package follow

import (
	"errors"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// lossTold is how long a connection must be lost before Changed is called. Shorter losses are
// normal, because a server ends each watch after some time, and the next watch begins immediately.
const lossTold = 2 * time.Second

// Connection tracks whether the server can be reached. Watches can share it. Methods of a nil Connection do nothing.
type Connection struct {
	// Changed is called with the time when the connection was lost, or with zero when it is back.
	Changed func(lost time.Time)

	mu       sync.Mutex
	lost     time.Time
	reported bool
}

// note records the result of a request. An error from the server counts as a lost connection only if it is transient.
func (c *Connection) note(err error) {
	if lost := Transient(err); lost || err == nil || errors.As(err, new(apierrors.APIStatus)) {
		c.set(lost)
	}
}

// watched records the result of a watch request. For a lost connection, client-go returns an empty watch and no error.
func (c *Connection) watched(w watch.Interface) {
	c.set(reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()))
}

// set records whether the connection is lost. It calls Changed if a loss lasts for lossTold, and after such a loss.
func (c *Connection) set(isLost bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !isLost:
		c.lost = time.Time{}
		if c.reported {
			c.reported = false
			c.Changed(time.Time{})
		}
	case c.lost.IsZero():
		lost := time.Now()
		c.lost = lost
		time.AfterFunc(lossTold, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.lost.Equal(lost) && !c.reported {
				c.reported = true
				c.Changed(lost)
			}
		})
	}
}
