package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Convergence reports whether the owner has what it wants and nothing is left to do
// (ready), whether its status says so (converged), and otherwise why not. An owner that
// is being deleted has everything that it will get.
func (p Actions) Convergence(v View) (ready, converged bool, why string) {
	ready = v.Owner.Deleting
	if c := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady); c != nil {
		ready, why = c.Status == metav1.ConditionTrue && !p.Writes(), c.Message
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReplicaFailure); c != nil && c.Status == metav1.ConditionTrue {
		why = c.Reason + ": " + c.Message
	}
	if v.Paused() {
		why = v.Owner.Pause.String()
	}
	return ready, ready && !p.StatusLater, why
}
