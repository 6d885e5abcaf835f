package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	ago := func(seconds int) metav1.Time {
		return metav1.NewTime(lookedAt().Add(-time.Duration(seconds) * time.Second))
	}
	got := Report{
		Reason: "2 of 3 pods: the image nope cannot be pulled: not found\n",
		Problems: []problem.Problem{
			{Code: problem.CodeImagePullFailed, Pods: []string{"foo-0", "foo-1"}, Of: 3, Events: []problem.Event{
				{Object: "Pod/foo-0", Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned ns/foo-0 to node-1", Count: 1, Last: ago(70)},
				{Object: "Pod/foo-0", Type: "Warning", Reason: "Failed", Message: "Failed to pull image \"nope\":\n  not found", Count: 3, Last: ago(5)},
			}},
			{Code: problem.CodeProbeFailed, Events: []problem.Event{{Object: "Pod/foo-2"}}},
		},
	}.Failure(lookedAt())
	const want = `2 of 3 pods: the image nope cannot be pulled: not found
  pod/foo-0: Normal Scheduled: Successfully assigned ns/foo-0 to node-1 (70s ago)
  pod/foo-0: Warning Failed: Failed to pull image "nope": not found (5s ago, 3 times)`
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// A failure that the controller reports outside of the conditions is a failure of the object. If the
// counts are correct, it is ignored.
func TestReportedFailure(t *testing.T) {
	t.Parallel()
	all, some := Counts{Desired: 3, Current: 3, Ready: 3}, Counts{Desired: 3, Current: 3, Ready: 1}
	failed := words.Claim{Path: ".status.phase", Text: "Failed", Meaning: words.Failed}
	part := words.Claim{Path: ".status.members[0].state", Text: "Failed", Meaning: words.Failed, Part: true}
	broken := words.Claim{Path: ".status.health", Text: "red", Meaning: words.Broken}
	for name, test := range map[string]struct {
		counts Counts
		claim  words.Claim
		failed bool
		want   Verdict
	}{
		"all pods are ready":                    {all, failed, false, Progressing},
		"all pods are ready, by its own rule":   {all, failed, true, Failed},
		"a pod is not ready":                    {some, failed, false, Failed},
		"a pod is not ready, by its own rule":   {some, broken, true, Failed},
		"a pod is not ready, and a part failed": {some, part, false, Progressing},
		"a pod is not ready, and it is broken":  {some, broken, false, Progressing},
		"no count":                              {Counts{NoCount: true}, failed, false, Failed},
		"no count, and a part failed":           {Counts{NoCount: true}, part, false, Failed},
		"no count, and it is broken":            {Counts{NoCount: true}, broken, false, Failed},
	} {
		o := Object{Identity: Identity{UID: "it", Foreign: true}, Counts: test.counts, Evidence: Evidence{Generation: 1, ObservedGeneration: 1, Claims: []words.Claim{test.claim}, Word: Word{Failed: test.failed}}}
		if r := NewReport(Snapshot{Object: o, Now: lookedAt()}); r.Verdict != test.want {
			t.Errorf("%s: it is %s: %s, want %s", name, r.Verdict, r.Reason, test.want)
		}
	}
}
