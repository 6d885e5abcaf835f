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
	switch {
	case Transient(err):
		c.lose()
	case err == nil, errors.As(err, new(apierrors.APIStatus)):
		c.regain()
	}
}

// watched records the result of a watch request. For a lost connection, client-go returns an empty watch and no error.
func (c *Connection) watched(w watch.Interface) {
	if reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		c.lose()
	} else {
		c.regain()
	}
}

// lose records that the connection is lost. If it is still lost after lossTold, lose calls Changed.
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
		if c.lost.Equal(lost) && !c.reported {
			c.reported = true
			c.Changed(lost)
		}
	})
}

// regain records that the connection is back. If the loss was reported, regain calls Changed.
func (c *Connection) regain() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = time.Time{}
	if c.reported {
		c.reported = false
		c.Changed(time.Time{})
	}
}
