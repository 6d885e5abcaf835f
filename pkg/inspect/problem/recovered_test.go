package problem

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A restarted container recovers after some time, which is longer after several restarts.
func TestRecovered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ran, runs time.Duration
		restarts  int32
		unready   bool
		want      bool
	}{
		"just started again":                    {runs: 9 * time.Second, restarts: 1},
		"started again a moment ago":            {runs: 10 * time.Second, restarts: 1, want: true},
		"not the first time":                    {runs: 59 * time.Second, restarts: 2},
		"not the first time, and calm":          {runs: time.Minute, restarts: 2, want: true},
		"ends every minute":                     {ran: time.Minute, runs: 119 * time.Second, restarts: 3},
		"outlived its last run":                 {ran: time.Minute, runs: 2 * time.Minute, restarts: 3, want: true},
		"ends every nine minutes":               {ran: 9 * time.Minute, runs: 10 * time.Minute, restarts: 3, want: true},
		"ended after long":                      {ran: time.Hour, runs: time.Second, restarts: 3, want: true},
		"ended after as long as it takes":       {ran: 10 * time.Minute, runs: time.Second, restarts: 3, want: true},
		"not ready":                             {ran: time.Second, runs: 10 * time.Minute, restarts: 1, unready: true},
		"not ready, but not because it crashed": {ran: time.Second, runs: 11 * time.Minute, restarts: 1, unready: true, want: true},
	} {
		now := lookedAt()
		begun := now.Add(-test.runs)
		c := container{ContainerStatus: corev1.ContainerStatus{
			Ready: !test.unready, RestartCount: test.restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begun)}},
		}}
		last := &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(begun.Add(-test.ran)), FinishedAt: metav1.NewTime(begun)}
		if got := c.recovered(last, now); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
