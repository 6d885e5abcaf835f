package controller

import (
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// wakeAfter delays an object for at most a minute, because timers stop while the machine is suspended.
func TestWakeAfterWaitsAtMostAMinute(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{time.Hour: time.Minute, time.Second: time.Second} {
		bubble.Test(t, func(t *testing.T) {
			c, begun := &Controller{queue: newQueue("", metrics.New(""), func(memory.Key) bool { return false })}, time.Now()
			defer c.queue.ShutDown()
			c.wakeAfter(memory.Key{Name: "foo"}, delay)
			if c.queue.Get(); time.Since(begun) != want {
				t.Errorf("wakeAfter(%s) queued the object after %s, want %s", delay, time.Since(begun), want)
			}
		})
	}
}
