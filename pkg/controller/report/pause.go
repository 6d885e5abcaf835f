package report

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// notPaused is the prefix of the message about a pause annotation with an invalid time.
const notPaused = "not paused: "

// pauseMessage returns the message about a pause, or "". It starts with notPaused for invalid ones.
func pauseMessage(s plan.Status) string {
	switch c := meta.FindStatusCondition(s.Conditions, apis.ConditionPaused); {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionTrue:
		return c.Message
	case c.Reason == apis.ReasonInvalidPause:
		return notPaused + c.Message
	}
	return ""
}

// Pause logs the transitions of the condition Paused, and records events. If the stored status has
// the pause, an earlier loop has recorded the event, so a loop that starts only logs the pause.
func (r *Reporter) Pause(k memory.Key, on runtime.Object, v plan.View, p plan.Actions, rec *memory.Object) {
	if v.Owner.Deleting {
		return
	}
	now, before, starts := pauseMessage(p.Status), pauseMessage(v.Owner.Status), rec.Pause == nil
	if !starts {
		before = *rec.Pause
	}
	rec.Pause = &now
	message, kind, reason := now, corev1.EventTypeNormal, "Paused"
	switch {
	case now == before && (now == "" || !starts), now == "" && strings.HasPrefix(before, notPaused):
		return
	case now == "":
		message, reason = "resumed", "Resumed"
		if end := v.Owner.Pause.Until; !end.IsZero() {
			message += ": the pause ended at " + end.Format(time.RFC3339)
		}
	case !v.Paused():
		kind, reason = corev1.EventTypeWarning, apis.ReasonInvalidPause
	}
	r.LogObject(k, "%s", message)
	if now != before {
		r.Event(on, kind, reason, "%s", message)
	}
}
