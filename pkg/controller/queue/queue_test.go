package queue

import (
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// A look at many pods is not followed by the next one at once.
func TestRest(t *testing.T) {
	q, k, now := New("", metrics.New("")), memory.Key{Name: "foo"}, time.Unix(1_700_000_000, 0)
	if rest := q.requeueAfter(k, now); rest > 0 {
		t.Errorf("an object that was never looked at has to wait for %v", rest)
	}
	q.Begin(k, now)
	q.Saw(k, 4000)
	if rest := q.requeueAfter(k, now.Add(40*time.Millisecond)); rest != 60*time.Millisecond {
		t.Errorf("4,000 pods were looked at 40 ms ago: the next look is due in %v, want 60ms", rest)
	}
	q.Begin(k, now.Add(time.Second))
	if rest := q.requeueAfter(k, now.Add(time.Second)); rest != 100*time.Millisecond {
		t.Errorf("while the next look is under way, the one after it is due in %v, want 100ms", rest)
	}
	q.Drop(k)
	if rest := q.requeueAfter(k, now.Add(time.Second)); rest > 0 {
		t.Errorf("an object that is forgotten has to wait for %v", rest)
	}
}

// The loop looks at a waiting object every minute, because timers stop while the machine
// sleeps.
func TestWakeAfterIsNotLaterThanAMinute(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{time.Hour: time.Minute, time.Second: time.Second} {
		bubble.Test(t, func(t *testing.T) {
			q, k, begun := New("", metrics.New("")), memory.Key{Name: "foo"}, time.Now()
			defer q.ShutDown()
			q.WakeAfter(k, delay)
			if q.Get(); time.Since(begun) != want {
				t.Errorf("to be looked at in %s, it is after %s, want %s", delay, time.Since(begun), want)
			}
		})
	}
}
