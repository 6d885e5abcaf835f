package controller

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
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

// logf says something of the loop itself. The words of others in it are escaped,
// as in all that the loop says.
func (c *Controller) logf(format string, args ...any) {
	c.line(Line{Text: escape.Line(fmt.Sprintf(format, args...)), Namespace: c.namespace})
}

// logObject writes a line about one object, unless it was the last one already,
// and reports whether it did.
func (c *Controller) logObject(k key, format string, args ...any) bool {
	line := escape.Line(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")) // errors may be joined
	if c.expectations.repeated(k, line) {
		return false
	}
	c.line(Line{Text: line, Kind: k.kind, Namespace: k.namespace, Name: k.name, Reconcile: c.expectations.look(k)})
	return true
}

// logPlan says what is about to be done: "1 → 3 pods: creating 2".
func (c *Controller) logPlan(k key, v plan.View, p plan.Actions) {
	if !p.Writes() {
		return
	}
	var deeds []string
	deed := func(n int, what string) {
		if n > 0 {
			deeds = append(deeds, fmt.Sprintf(what, n))
		}
	}
	if p.Apply != nil {
		deeds = append(deeds, "writing deployment "+p.Apply.Name)
	}
	for _, d := range p.Remove {
		deeds = append(deeds, "deleting deployment "+d.Name)
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
	deed(why[plan.Finished], "removing %d that ended")
	c.logObject(k, "%d → %d pods: %s", before, p.Status.Desired, strings.Join(deeds, ", "))
}

// logState says that an object has what it asks for, or that what it asks for
// cannot be.
func (c *Controller) logState(k key, on *corev1.ObjectReference, v plan.View, p plan.Actions) {
	// Its kind may have no conditions to say it in.
	if why := cmp.Or(v.Owner.Invalid, v.Owner.Problem); why != "" && !v.Owner.Deleting {
		if c.logObject(k, "%s", why) {
			c.event(on, corev1.EventTypeWarning, "InvalidSpec", "%s", why)
		}
		return
	}
	if !p.WriteStatus {
		return
	}
	if meta.IsStatusConditionFalse(p.Status.Conditions, apis.ConditionProgressing) {
		if ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady); ready.Status == metav1.ConditionTrue {
			c.logObject(k, "%s", ready.Message)
		}
	}
}

// logError records on the object that it could not be reconciled for a while.
func (c *Controller) logError(k key, err error) {
	o := c.kinds.get(k.kind)
	if o == nil {
		return
	}
	if obj := o.get(k.namespace, k.name); obj != nil {
		c.event(eventReference(o.kind, obj), corev1.EventTypeWarning, "ReconcileFailed", "%v", err)
	}
}

// logResult records events on the object: creations and deletions in aggregate once
// a plan has been done in full, refusals with the server's own words.
func (c *Controller) logResult(k key, kind kinds.Kind, obj *unstructured.Unstructured, rec *objectState, p plan.Actions, out *outcome, done bool) {
	on := eventReference(kind, obj)
	if p.NameTaken != "" && p.NameTaken != rec.nameTaken {
		c.event(on, corev1.EventTypeWarning, "FailedCreate", "%s", p.NameTaken)
		c.logObject(k, "%s", p.NameTaken)
	}
	rec.nameTaken = p.NameTaken
	if out.applied != nil {
		reason, what := "SuccessfulCreate", "Created"
		if p.Apply.UID != "" {
			reason, what = "SuccessfulUpdate", "Updated"
		}
		c.event(on, corev1.EventTypeNormal, reason, "%s deployment %s", what, p.Apply.Name)
	}
	for _, name := range out.removed {
		c.event(on, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted deployment %s", name)
	}
	rec.created += out.created
	rec.deleted += out.deleted
	if message := out.refusals(); message != "" {
		c.event(on, corev1.EventTypeWarning, "FailedCreate", "%s", message)
		c.logObject(k, "%s", message)
	}
	if !done || len(out.refused) > 0 {
		return
	}
	if rec.created > 0 {
		c.event(on, corev1.EventTypeNormal, "SuccessfulCreate", "Created %s", podCount(rec.created))
	}
	if rec.deleted > 0 {
		c.event(on, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted %s", podCount(rec.deleted))
	}
	rec.created, rec.deleted = 0, 0
}

// event records an event. Its message is read on a terminal sooner or later, and
// others may have chosen the words.
func (c *Controller) event(on *corev1.ObjectReference, kind, reason, format string, args ...any) {
	c.events.Event(on, kind, reason, escape.Cell(fmt.Sprintf(format, args...)))
}

// eventReference is what an event on an object refers to.
func eventReference(kind kinds.Kind, obj *unstructured.Unstructured) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: obj.GetAPIVersion(), Kind: kind.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}

func podCount(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
