package observe

import (
	"sync"
	"time"
)

// Connection notes whether the server is to be found, for several watches at the
// same time. Nil notes nothing.
type Connection struct {
	// Changed is told since when there is no connection; zero, there is one again.
	Changed func(lost time.Time)

	mu   sync.Mutex
	lost time.Time
}

// note takes in what came of a request.
func (c *Connection) note(err error) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch lost := transient(err); {
	case lost && c.lost.IsZero():
		c.lost = time.Now()
	case lost || c.lost.IsZero() || err != nil:
		return
	default:
		c.lost = time.Time{}
	}
	c.Changed(c.lost)
}
