// Package report tells what a loop does: in lines of its log, and by events on objects.
package report

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Line is something that a loop says, of an object or of itself.
type Line struct {
	Text string
	// Kind (plural.group), Namespace and Name are the object's. Of the loop itself
	// there is only the namespace, empty for all.
	Kind, Namespace, Name string
	// Reconcile is the number of the look at the object that it is about.
	Reconcile int64
}

// Reporter says what the loop does: in lines of a log, and by events on objects.
type Reporter struct {
	// Log takes the lines.
	Log func(Line)
	// Namespace is that of the loop, empty for all.
	Namespace string
	Objects   *memory.Memory
	// Look is the number of the last look at an object.
	Look   func(memory.Key) int64
	Events record.EventRecorder // from when the loop runs
}

// Logf says something of the loop itself. The words of others in it are escaped,
// as in all that the loop says.
func (r *Reporter) Logf(format string, args ...any) {
	r.Log(Line{Text: escape.Line(fmt.Sprintf(format, args...)), Namespace: r.Namespace})
}

// LogObject writes a line about one object, unless it was the last one already,
// and reports whether it did.
func (r *Reporter) LogObject(k memory.Key, format string, args ...any) bool {
	line := escape.Line(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")) // errors may be joined
	if r.Objects.Repeated(k, line) {
		return false
	}
	r.Log(Line{Text: line, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Reconcile: r.Look(k)})
	return true
}

// Plan logs what is about to be done: "1 → 3 pods: creating 2". It counts pods and
// names other children. Revisions and labels alone are not worth a line.
func (r *Reporter) Plan(k memory.Key, v plan.View, p plan.Actions) {
	var deeds []string
	pods := map[plan.Reason]int{}
	for _, op := range p.Operations {
		switch {
		case op.Verb == plan.Patch || op.Kind == plan.KindRevision:
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
	r.Objects.Retried(k)
	r.LogObject(k, "%d → %s: %s", plan.Active(v.Pods), problem.Quantity(p.Status.Desired, "pod"), strings.Join(deeds, ", "))
}

// State says that an object has what it asks for, or that what it asks for
// cannot be.
func (r *Reporter) State(k memory.Key, on *corev1.ObjectReference, v plan.View, p plan.Actions) {
	// Its kind may have no conditions to say it in.
	if why := cmp.Or(v.Owner.Invalid, v.Owner.Problem); why != "" && !v.Owner.Deleting {
		if r.LogObject(k, "%s", why) {
			r.Event(on, corev1.EventTypeWarning, "InvalidSpec", "%s", why)
		}
		return
	}
	if !p.WriteStatus {
		return
	}
	if meta.IsStatusConditionFalse(p.Status.Conditions, apis.ConditionProgressing) {
		if ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady); ready.Status == metav1.ConditionTrue {
			r.Objects.Retried(k)
			r.LogObject(k, "%s", ready.Message)
		}
	}
}

// Result records events on the object: creations and deletions in aggregate once
// a plan has been done in full, refusals with the server's own words.
func (r *Reporter) Result(k memory.Key, kind kinds.Kind, obj *unstructured.Unstructured, rec *memory.Object, p plan.Actions, out *strategy.Outcome, done bool) {
	on := Reference(kind, obj)
	if p.NameTaken != "" && p.NameTaken != rec.NameTaken {
		r.Event(on, corev1.EventTypeWarning, "FailedCreate", "%s", p.NameTaken)
		r.LogObject(k, "%s", p.NameTaken)
	}
	rec.NameTaken = p.NameTaken
	for _, note := range out.Notes {
		r.Event(on, corev1.EventTypeNormal, note.Reason, "%s", note.Message)
	}
	rec.Created += out.Created
	rec.Deleted += out.Deleted
	if message := out.Refusals(); message != "" {
		r.Event(on, corev1.EventTypeWarning, "FailedCreate", "%s", message)
		r.LogObject(k, "%s", message)
	}
	if why := out.Declined[plan.KindPod]; why != "" && r.LogObject(k, "%s; trying again in %s", why, plan.RelabelInterval) {
		r.Event(on, corev1.EventTypeWarning, "FailedLabel", "%s", why)
	}
	if !done || len(out.Refused) > 0 {
		return
	}
	if rec.Created > 0 {
		r.Event(on, corev1.EventTypeNormal, "SuccessfulCreate", "Created %s", problem.Quantity(rec.Created, "pod"))
	}
	if rec.Deleted > 0 {
		r.Event(on, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted %s", problem.Quantity(rec.Deleted, "pod"))
	}
	rec.Created, rec.Deleted = 0, 0
}

// Event records an event. Its message is read on a terminal sooner or later, and
// others may have chosen the words.
func (r *Reporter) Event(on *corev1.ObjectReference, kind, reason, format string, args ...any) {
	r.Events.Event(on, kind, reason, escape.Cell(fmt.Sprintf(format, args...)))
}

// Reference is what an event on an object refers to.
func Reference(kind kinds.Kind, obj *unstructured.Unstructured) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: obj.GetAPIVersion(), Kind: kind.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}
