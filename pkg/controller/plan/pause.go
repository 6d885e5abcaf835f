package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Paused reports whether only the status of the owner may be written. The loop's own clock decides
// when the pause ends. An owner that is being deleted is not paused, as nothing is written for it.
func (v View) Paused() bool { return !v.Owner.Deleting && v.Owner.Pause.Active(v.Now) }

// withPause adds the condition Paused if the owner is or was paused, or if its pause is invalid.
// During a pause, it also sets the condition Progressing to false.
func (v View) withPause(stored Status, conditions []metav1.Condition) []metav1.Condition {
	paused := v.Paused()
	if !paused && v.Owner.Pause.Invalid == "" && meta.FindStatusCondition(stored.Conditions, apis.ConditionPaused) == nil {
		return conditions
	}
	if p := meta.FindStatusCondition(conditions, apis.ConditionProgressing); paused && p != nil && p.Status == metav1.ConditionTrue {
		p.Status, p.Reason = metav1.ConditionFalse, apis.ReasonPaused
		p.Message = "the controller makes no changes while the object is paused"
	}
	return append(conditions, v.Owner.Pause.Condition(paused))
}
