package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// InvalidPause is the reason of the condition Paused where the end of a pause cannot
// be read.
const InvalidPause = "InvalidPause"

// Paused reports whether nothing is to be written for the owner but its status. The
// end of a pause is a time by the loop's own clock. One that is being deleted gets
// nothing anyway, and what it has goes in spite of a pause.
func (v View) Paused() bool { return !v.Owner.Deleting && v.Owner.Pause.Active(v.Now) }

// UnlessPaused makes of rules those that keep to pauses: of the plan
// for an owner that is paused, its status is left, and that the owner is looked at
// again when the pause ends.
func UnlessPaused(rules func(View) Actions) func(View) Actions {
	return func(v View) Actions {
		p := rules(v)
		if !v.Paused() {
			return p
		}
		return Actions{
			NameTaken: p.NameTaken, Status: p.Status, WriteStatus: p.WriteStatus, StatusLater: p.StatusLater, Memory: p.Memory,
			Recheck: sooner(p.Recheck, v.Owner.Pause.Left(v.Now)),
		}
	}
}

// withPause adds to the conditions of a status what there is to say of a pause. An
// owner that was never paused has no such condition; one that was keeps it, as false.
func (v View) withPause(said Status, conditions []metav1.Condition) []metav1.Condition {
	pause := v.Owner.Pause
	c := metav1.Condition{Type: apis.ConditionPaused, Status: metav1.ConditionFalse}
	switch {
	case v.Paused():
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Paused", pause.String()
		for i := range conditions {
			if conditions[i].Type == apis.ConditionProgressing && conditions[i].Status == metav1.ConditionTrue {
				conditions[i].Status, conditions[i].Reason = metav1.ConditionFalse, "Paused"
				conditions[i].Message = "the controller makes no changes while the object is paused"
			}
		}
	case pause.Invalid != "":
		c.Reason, c.Message = InvalidPause, pause.Invalid
	case meta.FindStatusCondition(said.Conditions, apis.ConditionPaused) == nil:
		return conditions
	case !pause.Until.IsZero():
		c.Reason, c.Message = "PauseEnded", "the pause ended at "+pause.Until.Format(time.RFC3339)
	default:
		c.Reason, c.Message = "Resumed", "the object is not paused"
	}
	return append(conditions, c)
}
