package printer

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// The text of a rollout contains its duration and its rate. Each test case is a series of observations.
func TestRollout(t *testing.T) {
	t.Parallel()
	type look struct {
		seconds    float64
		verdict    status.Verdict
		generation int64
		ready      int32
		want       string
	}
	for name, looks := range map[string][]look{
		"ready at first sight: no text": {{0, status.Ready, 1, 3, ""}, {5, status.Ready, 1, 3, ""}},
		"becomes ready": {
			{0, status.Progressing, 1, 0, "0s"}, {0.5, status.Progressing, 1, 2, "0s"},
			{1, status.Progressing, 1, 2, "1s  2.0/s"}, {4, status.Progressing, 1, 6, "4s  1.5/s"},
			{5, status.Ready, 1, 8, "took 5s"}, {60, status.Ready, 1, 8, "took 5s"},
		},
		"no rate without additional ready pods": {
			{0, status.Progressing, 1, 4, "0s"}, {2, status.Progressing, 1, 4, "2s"}, {3, status.Progressing, 1, 3, "3s"},
		},
		"changed during the rollout: the time restarts": {
			{0, status.Progressing, 1, 2, "0s"}, {9, status.Progressing, 2, 4, "0s"}, {11, status.Progressing, 2, 6, "2s  1.0/s"},
		},
		"not ready again: the time restarts": {
			{0, status.Ready, 1, 3, ""}, {9, status.Progressing, 1, 2, "0s"}, {12, status.Ready, 1, 3, "took 3s"},
		},
	} {
		o := rollout{}
		for _, l := range looks {
			now := now.Add(time.Duration(l.seconds * float64(time.Second)))
			r := status.Report{Verdict: l.verdict, Metadata: status.Metadata{Generation: l.generation}, Replicas: status.Replicas{Ready: l.ready}}
			if o = o.see(r, now); o.text(now) != l.want {
				t.Errorf("%s: after %v s: text %q, want %q", name, l.seconds, o.text(now), l.want)
			}
		}
	}
}

// If an object is not ready in its first observation, the rollout began with its last change.
func TestRolloutBeganWithTheLastChange(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) metav1.Time { return metav1.Time{Time: now.Add(-d)} }
	write := func(d time.Duration) status.Reconciler {
		return status.Reconciler{Spec: &fieldpath.Write{Time: ago(d)}}
	}
	condition := func(kind string, is metav1.ConditionStatus, d time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is, LastTransitionTime: ago(d)}
	}
	for name, test := range map[string]struct {
		report status.Report
		want   string
	}{
		"unknown time":              {status.Report{}, "0s"},
		"the spec was written":      {status.Report{Reconciler: write(time.Minute)}, "60s"},
		"written in the future":     {status.Report{Reconciler: write(-time.Minute)}, "0s"},
		"not ready, never written":  {status.Report{Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, time.Minute)}}, "60s"},
		"not ready, after a write":  {status.Report{Reconciler: write(time.Hour), Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, time.Minute)}}, "60s"},
		"not ready, before a write": {status.Report{Reconciler: write(time.Minute), Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, time.Hour)}}, "60s"},
		"a condition that is true":  {status.Report{Reconciler: write(time.Minute), Conditions: []metav1.Condition{condition("Ready", metav1.ConditionTrue, time.Second)}}, "60s"},
		"another condition":         {status.Report{Reconciler: write(time.Minute), Conditions: []metav1.Condition{condition("Paused", metav1.ConditionFalse, time.Second)}}, "60s"},
	} {
		test.report.Verdict = status.Progressing
		if got := (rollout{}).see(test.report, now).text(now); got != test.want {
			t.Errorf("%s: text %q, want %q", name, got, test.want)
		}
	}
}

// readyNow counts the pods if they may be newer than the status.
func TestReadyNow(t *testing.T) {
	t.Parallel()
	pods := func(ready ...bool) []problem.Pod {
		var all []problem.Pod
		for _, is := range ready {
			all = append(all, problem.Pod{Ready: is})
		}
		return all
	}
	for name, test := range map[string]struct {
		verdict  status.Verdict
		replicas status.Replicas
		pods     []problem.Pod
		want     int32
	}{
		"the pods are ahead":                {status.Progressing, status.Replicas{Current: 2, Ready: 0}, pods(true, true, false), 2},
		"the pods match the current count":  {status.Progressing, status.Replicas{Current: 2, Ready: 0}, pods(true, false), 1},
		"the status counts more ready pods": {status.Progressing, status.Replicas{Current: 1, Ready: 3}, pods(true, true), 3},
		"not all pods are seen":             {status.Progressing, status.Replicas{Current: 3, Ready: 1}, pods(true, true), 1},
		"no pod is seen":                    {status.Progressing, status.Replicas{Ready: 2}, nil, 2},
		"ready: the status counts":          {status.Ready, status.Replicas{Current: 2, Ready: 2}, pods(true, false), 2},
		"ready, with surplus pods":          {status.Ready, status.Replicas{Current: 1, Ready: 1}, pods(true, true), 1},
	} {
		if got := readyNow(status.Report{Verdict: test.verdict, Replicas: test.replicas, Pods: test.pods}); got != test.want {
			t.Errorf("%s: readyNow = %d, want %d", name, got, test.want)
		}
	}
}
