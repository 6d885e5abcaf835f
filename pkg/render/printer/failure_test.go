package printer

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	ago := func(seconds int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second)) }
	golden(t, "failure", Failure(status.Report{
		Reason: "2 of 3 pods: the image nope cannot be pulled: not found",
		Problems: []problem.Problem{
			{Code: problem.CodeImagePullFailed, Pods: []string{"foo-0", "foo-1"}, Of: 3, Events: []problem.Event{
				{Object: "Pod/foo-0", Type: "Normal", Reason: "Scheduled", Message: "Successfully assigned ns/foo-0 to node-1", Count: 1, Last: ago(70)},
				{Object: "Pod/foo-0", Type: "Warning", Reason: "Failed", Message: "Failed to pull image \"nope\":\n  not found", Count: 3, Last: ago(5)},
			}},
			{Code: problem.CodeProbeFailed, Events: []problem.Event{{Object: "Pod/foo-2"}}},
		},
	}, now)+"\n")
}
