package problem

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long a restarted container must run until it has recovered depends on its restarts, last run, and readiness.
func TestRecovered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ran, runs time.Duration
		restarts  int32
		unready   bool
		want      bool
	}{
		"first restart, up for 9s":            {runs: 9 * time.Second, restarts: 1},
		"first restart, up for 10s":           {runs: 10 * time.Second, restarts: 1, want: true},
		"second restart, up for 59s":          {runs: 59 * time.Second, restarts: 2},
		"second restart, up for 60s":          {runs: time.Minute, restarts: 2, want: true},
		"up for less than twice the last run": {ran: time.Minute, runs: 119 * time.Second, restarts: 3},
		"up for twice the last run":           {ran: time.Minute, runs: 2 * time.Minute, restarts: 3, want: true},
		"last run of 9m, up for 10m":          {ran: 9 * time.Minute, runs: 10 * time.Minute, restarts: 3, want: true},
		"last run of an hour":                 {ran: time.Hour, runs: time.Second, restarts: 3, want: true},
		"last run of 10m":                     {ran: 10 * time.Minute, runs: time.Second, restarts: 3, want: true},
		"not ready, up for 10m":               {ran: time.Second, runs: 10 * time.Minute, restarts: 1, unready: true},
		"not ready, up for 11m":               {ran: time.Second, runs: 11 * time.Minute, restarts: 1, unready: true, want: true},
	} {
		now := lookedAt()
		begun := now.Add(-test.runs)
		c := container{ContainerStatus: corev1.ContainerStatus{
			Ready: !test.unready, RestartCount: test.restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begun)}},
		}}
		last := &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(begun.Add(-test.ran)), FinishedAt: metav1.NewTime(begun)}
		if got := c.recovered(last, now); got != test.want {
			t.Errorf("%s: recovered() = %t, want %t", name, got, test.want)
		}
	}
}
