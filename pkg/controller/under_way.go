package controller

import (
	"fmt"
	"sync"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
)

// stuckAfter is how long no reconcile takes that goes on at all: each of its
// requests and waits is bounded by a fraction of it.
const stuckAfter = 10 * time.Minute

// underWay knows since when each of the reconciles has gone on that have not ended.
type underWay struct {
	mu    sync.Mutex
	since map[memory.Key]time.Time
}

func (u *underWay) begin(k memory.Key, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since == nil {
		u.since = map[memory.Key]time.Time{}
	}
	u.since[k] = now
}

func (u *underWay) end(k memory.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.since, k)
}

// oldest returns the reconcile that has gone on for the longest, if there is one.
func (u *underWay) oldest() (of memory.Key, since time.Time, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for k, at := range u.since {
		if !found || at.Before(since) {
			of, since, found = k, at, true
		}
	}
	return of, since, found
}

// Stuck says which reconcile has gone on for so long that it will not end, "" for
// none. A loop whose context has ended and that does not return is stuck likewise.
func (c *Controller) Stuck() string {
	k, since, found := c.underWay.oldest()
	if !found || c.Clock.Now().Sub(since) < stuckAfter {
		return ""
	}
	return fmt.Sprintf("the reconcile of %s %s/%s has not ended since %s", k.Kind, k.Namespace, k.Name, since.UTC().Format("2006-01-02 15:04:05 MST"))
}
