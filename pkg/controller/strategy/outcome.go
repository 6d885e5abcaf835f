package strategy

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Outcome is the result of executing a plan.
type Outcome struct {
	mu sync.Mutex
	// Created and Deleted are numbers of pods. Notes contains the events about Deployments.
	Created, Deleted int
	Notes            []Note
	// Written holds the highest resourceVersion of the written children, by resource.
	Written map[string]string
	// Unanswered lists the pods that might exist, because the server neither accepted nor rejected their creates.
	Unanswered []string
	// Applied is the applied Deployment, if any. Unchanged means that the apply changed nothing, so no event follows.
	Applied   *plan.Applied
	Unchanged bool
	// Refused holds the refusals of creates and applies, by slot. Only Reason and Message are set.
	Refused map[slots.Slot]plan.Refusal
	// Declined holds, by the kind of the child, the message about a refused write of a revision or of a
	// pod's labels. After a refused revision, no more revisions are written. All other operations continue.
	Declined map[plan.Kind]string
	// Failing means that the server failed during a create or an apply, or did not answer a write of a revision.
	Failing bool
	// Ending means that the namespace is terminating or missing, so an immediate retry is useless.
	Ending bool

	failures []error
}

// Note is the reason and the message of an event.
type Note struct{ Reason, Message string }

// note calls change with the lock held, because operations run in parallel.
func (o *Outcome) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

func (o *Outcome) wrote(kind plan.Kind, child metav1.Object) {
	resource := children()[kind].resource.Resource
	o.note(func() { o.Written[resource] = informer.Later(o.Written[resource], child.GetResourceVersion()) })
}

// succeeded records a successful operation. child is the child in the response, or nil.
func (o *Outcome) succeeded(op plan.Operation, child metav1.Object) {
	if child != nil {
		o.wrote(op.Kind, child)
	}
	if u, ok := child.(*unstructured.Unstructured); ok && op.Verb == plan.Apply {
		wanted := plan.Wanted{Name: op.Name, Fields: op.Fields}
		applied := &plan.Applied{Wanted: wanted, UID: u.GetUID(), Stored: deploymentOf(u).Fields}
		o.note(func() { o.Applied, o.Unchanged = applied, u.GetResourceVersion() == op.ResourceVersion })
	}
	o.note(func() {
		event := func(reason, done string) {
			o.Notes = append(o.Notes, Note{reason, fmt.Sprintf("%s %s %s", done, op.Kind, op.Name)})
		}
		switch {
		case op.Kind == plan.KindRevision || op.Verb == plan.Patch || op.Verb == plan.Try:
		case op.Kind == plan.KindPod && op.Verb == plan.Create:
			o.Created++
		case op.Kind == plan.KindPod:
			o.Deleted++
		case op.Verb == plan.Delete:
			event("SuccessfulDelete", "Deleted")
		case op.UID == "":
			event("SuccessfulCreate", "Created")
		case !o.Unchanged:
			event("SuccessfulUpdate", "Updated")
		}
	})
}

// refuse records a refusal. It returns errStopped, or nil for a revision or labels. If there are several refusals for a
// slot, for revisions, or for labels, it keeps the message that sorts first, so that a retry usually repeats it.
func (o *Outcome) refuse(op plan.Operation, slot slots.Slot, reason, message string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op.Kind == plan.KindRevision || op.Verb == plan.Patch {
		if other := o.Declined[op.Kind]; other == "" || message < other {
			o.Declined[op.Kind] = message
		}
		return nil
	}
	if other, known := o.Refused[slot]; !known || message < other.Message {
		o.Refused[slot] = plan.Refusal{Reason: reason, Message: message}
	}
	return errStopped
}

// Refusals describes the refused creates and applies in one line, or returns "" if there are none.
func (o *Outcome) Refusals() string {
	lowest, _ := plan.LowestRefusal(o.Refused)
	if others := len(o.Refused) - 1; others > 0 {
		return fmt.Sprintf("%s (and %d more)", lowest.Message, others)
	}
	return lowest.Message
}
