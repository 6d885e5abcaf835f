package controller

import (
	"context"
	"time"
)

// lately is how long ago an object may have changed for the loop that led before not to
// have acted on it: it had so long to renew its lease, and a little to notice.
const lately = 20 * time.Second

// awaitLead waits until the loop may work, and reports whether it may. Objects that
// changed lately go first then: nobody may have acted on these changes.
func (c *Controller) awaitLead(ctx context.Context) bool {
	if c.Lead == nil {
		return true
	}
	select {
	case <-c.Lead:
	case <-ctx.Done():
		return false
	}
	c.queue.SetBack(time.Now().Add(-lately))
	return true
}

// leads reports whether the loop may work.
func (l *loop) leads() bool {
	if l.Lead == nil {
		return true
	}
	select {
	case <-l.Lead:
		return true
	default:
		return false
	}
}
