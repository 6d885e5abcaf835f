// Package report writes the log of a controller, and records events on the objects that it reconciles.
package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Line is a log line about an object or about the loop itself.
type Line struct {
	Text string
	// Kind (plural.group), Namespace, and Name identify the object. For a line about the loop, Kind and
	// Name are empty, and so is Namespace if the loop works in all namespaces.
	Kind, Namespace, Name string
	// Reconcile is the sequence number of the object's last reconcile, or zero for the loop itself.
	Reconcile int64
}

// Reporter writes the log of a loop and its events on objects.
type Reporter struct {
	Log func(Line)
	// Namespace is the namespace of the loop; empty means all namespaces.
	Namespace string
	Objects   *memory.Memory
	Events    record.EventRecorder // set when the loop starts
}

// Logf logs a line about the loop itself. A Reporter escapes all lines and events, which may quote other programs.
func (r *Reporter) Logf(format string, args ...any) {
	r.Log(Line{Text: escape.Line(fmt.Sprintf(format, args...)), Namespace: r.Namespace})
}

// LogObject logs a line about an object, unless its last line was the same. It reports whether it logged the line.
func (r *Reporter) LogObject(k memory.Key, format string, args ...any) bool {
	line := escape.Line(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")) // for joined errors
	number, repeated := r.Objects.Said(k, line)
	if !repeated {
		r.Log(Line{Text: line, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Reconcile: number})
	}
	return !repeated
}

// Plan logs the operations of a plan, such as "1 → 3 pods: creating 2", except for retries, dry runs, and writes of
// revisions and labels. If operations remain, it clears rec.Logged. The line names children other than pods.
func (r *Reporter) Plan(k memory.Key, v plan.View, a plan.Actions, rec *memory.Object) {
	var deeds []string
	pods := map[plan.Reason]int{}
	for _, op := range a.Operations {
		switch {
		case op.Verb == plan.Patch || op.Verb == plan.Try || op.Kind == plan.KindRevision || op.Verb != plan.Delete && a.Retries(op, v):
		case op.Kind == plan.KindPod:
			pods[op.Reason]++
		default:
			deeds = append(deeds, strings.TrimSuffix(string(op.Verb), "e")+"ing "+string(op.Kind)+" "+op.Name)
		}
	}
	for _, is := range []struct {
		why  plan.Reason
		text string
	}{{"", "creating %d"}, {plan.Surplus, "deleting %d"}, {plan.Outdated, "replacing %d"}, {plan.Finished, "deleting %d finished"}} {
		if n := pods[is.why]; n > 0 {
			deeds = append(deeds, fmt.Sprintf(is.text, n))
		}
	}
	if len(deeds) == 0 {
		return
	}
	clear(rec.Logged)
	r.LogObject(k, "%d → %s: %s", plan.Active(v.Pods), problem.Quantity(a.Status.Desired, "pod"), strings.Join(deeds, ", "))
}

// State logs that an object has converged. If the spec is invalid, State logs the reason instead, and records an event.
func (r *Reporter) State(k memory.Key, on runtime.Object, v plan.View, a plan.Actions, rec *memory.Object) {
	// Do not read the reason from the conditions, because some kinds have no conditions.
	if why := cmp.Or(v.Owner.Invalid, v.Owner.Problem); why != "" && !v.Owner.Deleting {
		if r.LogObject(k, "%s", why) {
			r.Event(on, corev1.EventTypeWarning, "InvalidSpec", "%s", why)
		}
		return
	}
	ready := meta.FindStatusCondition(a.Status.Conditions, apis.ConditionReady)
	if a.WriteStatus && ready.Status == metav1.ConditionTrue && meta.IsStatusConditionFalse(a.Status.Conditions, apis.ConditionProgressing) {
		clear(rec.Logged)
		r.LogObject(k, "%s", ready.Message)
	}
}

// Result records events for the results of a plan, and logs refusals. For created and deleted pods,
// it reports only numbers, and only when no operation was skipped and no create was refused.
func (r *Reporter) Result(k memory.Key, on runtime.Object, rec *memory.Object, a plan.Actions, out *strategy.Outcome, done bool) {
	if a.NameTaken != "" && a.NameTaken != rec.NameTaken {
		r.Event(on, corev1.EventTypeWarning, "FailedCreate", "%s", a.NameTaken)
		r.LogObject(k, "%s", a.NameTaken)
	}
	rec.NameTaken = a.NameTaken
	for _, note := range out.Notes {
		r.Event(on, corev1.EventTypeNormal, note.Reason, "%s", note.Message)
	}
	if message := out.Refusals(); message != "" {
		r.Event(on, corev1.EventTypeWarning, "FailedCreate", "%s", message)
		r.LogObject(k, "%s", message)
	}
	if why := out.Declined[plan.KindPod]; why != "" && r.LogObject(k, "%s; trying again in %s", why, plan.RelabelInterval) {
		r.Event(on, corev1.EventTypeWarning, "FailedLabel", "%s", why)
	}
	rec.Created += out.Created
	rec.Deleted += out.Deleted
	if !done || len(out.Refused) > 0 {
		return
	}
	if rec.Created > 0 {
		r.Event(on, corev1.EventTypeNormal, "SuccessfulCreate", "Created %s, now %d of %d",
			problem.Quantity(rec.Created, "pod"), int(a.Status.Current)+out.Created, a.Status.Desired)
	}
	if rec.Deleted > 0 {
		r.Event(on, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted %s", problem.Quantity(rec.Deleted, "pod"))
	}
	rec.Created, rec.Deleted = 0, 0
}

// Event records an event. It escapes the message, because terminals show messages from other programs.
func (r *Reporter) Event(on runtime.Object, kind, reason, format string, args ...any) {
	r.Events.Event(on, kind, reason, escape.Cell(fmt.Sprintf(format, args...)))
}

// notPaused is the prefix of the message about a pause annotation with an invalid time.
const notPaused = "not paused: "

// pauseMessage returns the message of an active pause, notPaused plus the message of an invalid pause, or "".
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

// Pause logs each change of the condition Paused, and records an event. If the stored status
// already reports the pause, an earlier loop has recorded the event, so Pause only logs the pause.
func (r *Reporter) Pause(k memory.Key, on runtime.Object, v plan.View, a plan.Actions, rec *memory.Object) {
	if v.Owner.Deleting {
		return
	}
	now, before, starts := pauseMessage(a.Status), pauseMessage(v.Owner.Status), rec.Pause == nil
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
