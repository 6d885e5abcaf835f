package report

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// notPaused begins what is said of a pause whose end cannot be read.
const notPaused = "not paused: "

// pauseText is what there is to say of a pause, "" for nothing.
func pauseText(v plan.View) string {
	switch {
	case v.Paused():
		return v.Owner.Pause.String()
	case v.Owner.Pause.Invalid != "":
		return notPaused + v.Owner.Pause.Invalid
	}
	return ""
}

// saidOfPause is what a status says of a pause, likewise.
func saidOfPause(s plan.Status) string {
	c := meta.FindStatusCondition(s.Conditions, apis.ConditionPaused)
	switch {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionTrue:
		return c.Message
	case c.Reason == plan.InvalidPause:
		return notPaused + c.Message
	}
	return ""
}

// Pause says once, by a line and an event, that an object is paused, and once that it
// is not any more. What another loop said before this one is in the status.
func (r *Reporter) Pause(k memory.Key, on *corev1.ObjectReference, v plan.View, rec *memory.Object) {
	if v.Owner.Deleting {
		return
	}
	now, first := pauseText(v), rec.Pause == nil
	said := saidOfPause(v.Owner.Status)
	if !first {
		said = *rec.Pause
	}
	rec.Pause = &now
	if now == said {
		if first && now != "" {
			r.LogObject(k, "%s", now)
		}
		return
	}
	switch {
	case v.Paused():
		r.LogObject(k, "%s", now)
		r.Event(on, corev1.EventTypeNormal, "Paused", "%s", now)
	case now != "":
		r.LogObject(k, "%s", now)
		r.Event(on, corev1.EventTypeWarning, "InvalidPause", "%s", now)
	case !strings.HasPrefix(said, notPaused):
		resumed := "resumed"
		if end := v.Owner.Pause.Until; !end.IsZero() {
			resumed += ": the pause ended at " + end.Format(time.RFC3339)
		}
		r.LogObject(k, "%s", resumed)
		r.Event(on, corev1.EventTypeNormal, "Resumed", "%s", resumed)
	}
}
