package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// InvalidPause is the reason of the condition Paused if the end of a pause is not a
// time.
const InvalidPause = "InvalidPause"

// Paused reports whether only the status of the owner may be written. The pause ends
// by the loop's own clock. An owner that is being deleted is not paused: it gets
// nothing anyway.
func (v View) Paused() bool { return !v.Owner.Deleting && v.Owner.Pause.Active(v.Now) }

// withPause adds the condition Paused. An owner that was never paused does not have
// it; one that was keeps it, as false.
func (v View) withPause(stored Status, conditions []metav1.Condition) []metav1.Condition {
	pause := v.Owner.Pause
	c := metav1.Condition{Type: apis.ConditionPaused, Status: metav1.ConditionFalse}
	switch {
	case v.Paused():
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Paused", pause.String()
		if p := meta.FindStatusCondition(conditions, apis.ConditionProgressing); p != nil && p.Status == metav1.ConditionTrue {
			p.Status, p.Reason = metav1.ConditionFalse, "Paused"
			p.Message = "the controller makes no changes while the object is paused"
		}
	case pause.Invalid != "":
		c.Reason, c.Message = InvalidPause, pause.Invalid
	case meta.FindStatusCondition(stored.Conditions, apis.ConditionPaused) == nil:
		return conditions
	case !pause.Until.IsZero():
		c.Reason, c.Message = "PauseEnded", "the pause ended at "+pause.Until.Format(time.RFC3339)
	default:
		c.Reason, c.Message = "Resumed", "the object is not paused"
	}
	return append(conditions, c)
}
