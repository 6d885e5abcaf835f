package status

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func TestDoubtedCounts(t *testing.T) {
	t.Parallel()
	object := func() Object {
		return Object{
			Counts: Counts{Ready: 3, Available: new(int32(3))},
			Evidence: Evidence{Conditions: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionTrue, Message: "all are."}, {Type: "Available", Status: metav1.ConditionTrue}, {Type: "Other", Status: metav1.ConditionTrue}, {Type: "Ready", Status: metav1.ConditionFalse},
			}},
		}
	}
	for ready, note := range map[int32]string{
		0: ", but 3 of its pods are no longer ready, or not yet for minReadySeconds",
		2: ", but 1 of its pods is no longer ready, or not yet for minReadySeconds",
		3: "", 4: "",
	} {
		pods := make([]problem.Pod, 5)
		for i := range ready {
			pods[i].Ready = true
		}
		o := object().doubted(pods)
		left := min(ready, 3)
		message := strings.TrimSuffix("all are.", ".") + note
		if note == "" {
			message = "all are."
		}
		if o.Ready != left || *o.Available != left || o.Conditions[0].Message != message || o.Conditions[1].Message != note || o.Conditions[2].Message+o.Conditions[3].Message != "" {
			t.Errorf("%d ready pods: ready %d, available %d, want %d; conditions %+v, want note %q", ready, o.Ready, *o.Available, left, o.Conditions, note)
		}
	}
}
