package controller

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
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/expectations"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
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

// reporter says what the loop does: in lines of a log, and by events on objects.
type reporter struct {
	line      func(Line)
	namespace string
	objects   *expectations.States
	// look is the number of the last look at an object.
	look   func(expectations.Key) int64
	events record.EventRecorder // from when the loop runs
}

// logf says something of the loop itself. The words of others in it are escaped,
// as in all that the loop says.
func (r *reporter) logf(format string, args ...any) {
	r.line(Line{Text: escape.Line(fmt.Sprintf(format, args...)), Namespace: r.namespace})
}

// logObject writes a line about one object, unless it was the last one already,
// and reports whether it did.
func (r *reporter) logObject(k expectations.Key, format string, args ...any) bool {
	line := escape.Line(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")) // errors may be joined
	if r.objects.Repeated(k, line) {
		return false
	}
	r.line(Line{Text: line, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Reconcile: r.look(k)})
	return true
}

// plan says what is about to be done: "1 → 3 pods: creating 2".
func (r *reporter) plan(k expectations.Key, v plan.View, p plan.Actions) {
	var deeds []string
	deed := func(n int, what string) {
		if n > 0 {
			deeds = append(deeds, fmt.Sprintf(what, n))
		}
	}
	if p.Apply != nil {
		deeds = append(deeds, "writing Deployment "+p.Apply.Name)
	}
	for _, d := range p.Remove {
		deeds = append(deeds, "deleting Deployment "+d.Name)
	}
	why := map[plan.Reason]int{}
	for _, d := range p.Delete {
		why[d.Why]++
	}
	before := plan.Active(v.Pods)
	if p.Apply != nil || len(p.Remove) > 0 {
		before = int(p.Status.Current)
	}
	deed(len(p.Create), "creating %d")
	deed(why[plan.Surplus], "deleting %d")
	deed(why[plan.Outdated], "replacing %d")
	deed(why[plan.Finished], "deleting %d finished")
	if len(deeds) == 0 {
		return // what is done for the history alone is not worth a line
	}
	r.objects.Retried(k)
	r.logObject(k, "%d → %s: %s", before, plan.PodCount(int(p.Status.Desired)), strings.Join(deeds, ", "))
}

// state says that an object has what it asks for, or that what it asks for
// cannot be.
func (r *reporter) state(k expectations.Key, on *corev1.ObjectReference, v plan.View, p plan.Actions) {
	// Its kind may have no conditions to say it in.
	if why := cmp.Or(v.Owner.Invalid, v.Owner.Problem); why != "" && !v.Owner.Deleting {
		if r.logObject(k, "%s", why) {
			r.event(on, corev1.EventTypeWarning, "InvalidSpec", "%s", why)
		}
		return
	}
	if !p.WriteStatus {
		return
	}
	if meta.IsStatusConditionFalse(p.Status.Conditions, apis.ConditionProgressing) {
		if ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady); ready.Status == metav1.ConditionTrue {
			r.objects.Retried(k)
			r.logObject(k, "%s", ready.Message)
		}
	}
}

// result records events on the object: creations and deletions in aggregate once
// a plan has been done in full, refusals with the server's own words.
func (r *reporter) result(k expectations.Key, kind kinds.Kind, obj *unstructured.Unstructured, rec *expectations.State, p plan.Actions, out *strategy.Outcome, done bool) {
	on := eventReference(kind, obj)
	if p.NameTaken != "" && p.NameTaken != rec.NameTaken {
		r.event(on, corev1.EventTypeWarning, "FailedCreate", "%s", p.NameTaken)
		r.logObject(k, "%s", p.NameTaken)
	}
	rec.NameTaken = p.NameTaken
	for _, note := range out.Notes {
		r.event(on, corev1.EventTypeNormal, note.Reason, "%s", note.Message)
	}
	rec.Created += out.Created
	rec.Deleted += out.Deleted
	if message := out.Refusals(); message != "" {
		r.event(on, corev1.EventTypeWarning, "FailedCreate", "%s", message)
		r.logObject(k, "%s", message)
	}
	if !done || len(out.Refused) > 0 {
		return
	}
	if rec.Created > 0 {
		r.event(on, corev1.EventTypeNormal, "SuccessfulCreate", "Created %s", plan.PodCount(rec.Created))
	}
	if rec.Deleted > 0 {
		r.event(on, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted %s", plan.PodCount(rec.Deleted))
	}
	rec.Created, rec.Deleted = 0, 0
}

// event records an event. Its message is read on a terminal sooner or later, and
// others may have chosen the words.
func (r *reporter) event(on *corev1.ObjectReference, kind, reason, format string, args ...any) {
	r.events.Event(on, kind, reason, escape.Cell(fmt.Sprintf(format, args...)))
}

// eventReference is what an event on an object refers to.
func eventReference(kind kinds.Kind, obj *unstructured.Unstructured) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: obj.GetAPIVersion(), Kind: kind.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}
