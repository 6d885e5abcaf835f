package status

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	got := Report{
		Reason: "2 of 3 pods: the image nope cannot be pulled: not found\n",
		Problems: []problem.Problem{
			{Code: problem.CodeImagePullFailed, Pods: []string{"foo-0", "foo-1"}, Of: 3, Events: []problem.Event{
				{Object: "Pod/foo-0", Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned ns/foo-0 to node-1", Count: 1, Last: *ago(70)},
				{Object: "Pod/foo-0", Type: "Warning", Reason: "Failed", Message: "Failed to pull image \"nope\":\n  not found", Count: 3, Last: *ago(5)},
			}},
			{Code: problem.CodeProbeFailed, Events: []problem.Event{{Object: "Pod/foo-2"}}},
		},
	}.Failure(lookedAt())
	const want = `2 of 3 pods: the image nope cannot be pulled: not found
  pod/foo-0: Normal Scheduled: Successfully assigned ns/foo-0 to node-1 (70s ago)
  pod/foo-0: Warning Failed: Failed to pull image "nope": not found (5s ago, 3 times)`
	if got != want {
		t.Errorf("Failure() =\n%s\nwant\n%s", got, want)
	}
}
