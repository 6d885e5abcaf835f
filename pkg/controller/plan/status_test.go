package plan

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestConditions(t *testing.T) {
	for _, test := range []struct {
		name                   string
		desired                int32
		pods                   string
		refusal                string
		current, readyCount    int32
		ready                  metav1.ConditionStatus
		progressing, why, fail string
	}{
		{"nothing wanted", 0, "", "", 0, 0, "True", "False", "Converged", "False"},
		{"from nothing", 2, "", "", 0, 0, "False", "True", "CreatingPods", "False"},
		{"starting", 2, "0 1n", "", 2, 1, "False", "True", "PodsStarting", "False"},
		{"converged", 2, "0 1", "", 2, 2, "True", "False", "Converged", "False"},
		{"too many", 1, "0 1", "", 2, 2, "False", "True", "DeletingPods", "False"},
		{"ending", 1, "0 1t", "", 1, 1, "True", "True", "PodsEnding", "False"},
		{"lost", 1, "0 1l", "", 1, 1, "True", "False", "Converged", "False"},
		{"ended", 1, "0f", "", 0, 0, "False", "True", "WaitingToReplace", "False"},
		{"refused", 2, "0", "QuotaExceeded", 1, 1, "False", "False", "WaitingAfterRefusal", "True"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := view(test.desired, test.pods)
			if test.refusal != "" {
				v.Memory = v.Memory.Refused(NoSlot, Refusal{Reason: test.refusal, Message: "no", Generation: 1, At: noon})
			}
			s := Pods(v).Status
			if s.Current != test.current || s.Ready != test.readyCount || s.ObservedGeneration != 1 {
				t.Errorf("status %+v, want %d current and %d ready", s, test.current, test.readyCount)
			}
			ready := meta.FindStatusCondition(s.Conditions, apis.ConditionReady)
			progressing := meta.FindStatusCondition(s.Conditions, apis.ConditionProgressing)
			failure := meta.FindStatusCondition(s.Conditions, apis.ConditionReplicaFailure)
			if ready.Status != test.ready {
				t.Errorf("Ready is %+v, want %s", ready, test.ready)
			}
			if string(progressing.Status) != test.progressing || progressing.Reason != test.why {
				t.Errorf("Progressing is %+v, want %s, %s", progressing, test.progressing, test.why)
			}
			if string(failure.Status) != test.fail {
				t.Errorf("ReplicaFailure is %+v, want %s", failure, test.fail)
			}
		})
	}
}

// Rule 9: the status is written at once for a new generation and on
// convergence, otherwise once a second at most, and not at all when it says
// what is stored already.
func TestStatusIsWrittenWhenItChanged(t *testing.T) {
	v := view(3, "0n 1n 2n")
	first := Pods(v)
	if !first.WriteStatus {
		t.Fatal("the first observation is not written")
	}
	v.Owner.Status, v.Memory = first.Status, first.Memory
	v.Memory.Written = &Written{At: noon, Status: first.Status, Stored: first.Status}

	v.Now = noon.Add(100 * time.Millisecond)
	if p := Pods(v); p.WriteStatus || p.Recheck != 0 {
		t.Errorf("what is stored already is written again (%v) or looked at again in %v", p.WriteStatus, p.Recheck)
	}
	v.Pods = pods("0 1n 2n")
	if p := Pods(v); p.WriteStatus || p.Recheck != 900*time.Millisecond {
		t.Errorf("progress after 100 ms: written %v, recheck %v; want to wait 900 ms", p.WriteStatus, p.Recheck)
	}
	v.Now = noon.Add(time.Second)
	if p := Pods(v); !p.WriteStatus {
		t.Error("progress after a second is not written")
	}
	v.Now = noon.Add(200 * time.Millisecond)
	v.Pods = pods("0 1 2")
	if p := Pods(v); !p.WriteStatus {
		t.Error("convergence is not written at once")
	}
	v.Pods = pods("0 1n 2n")
	v.Owner.Generation++
	if p := Pods(v); !p.WriteStatus {
		t.Error("a new generation is not written at once")
	}
}
