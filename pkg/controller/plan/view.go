// Package plan decides what a reconcile does: a view of an owner and its pods
// goes in, a plan comes out. It imports no client, no clock and no context, so
// that every rule in it is a table test. docs/architecture.md
// says which rule lives where.
package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// View is all that a plan may know: one owner, its pods and what else its plan
// looks at, what the loop remembers of it, and the time.
type View struct {
	Owner Owner
	// Pods are those that the owner controls, or, where it has a Deployment, those
	// that carry its label.
	Pods []Pod
	// Deployments are those that the owner controls and that of the name it wants.
	Deployments []Deployment
	// Nodes are those of the cluster, with no more than names, labels and taints.
	Nodes []*corev1.Node
	// Revisions are those that the owner controls. HistoryKnown says that these are all:
	// where they cannot be read, none are written.
	Revisions    []Revision
	HistoryKnown bool
	Memory       Memory
	// Now is a time of the wall clock: while a machine sleeps, its monotonic clock stops.
	Now time.Time
}

// Owner is the object that is reconciled.
type Owner struct {
	Kind, Name string
	UID        types.UID
	Generation int64
	// Deleting says that the object has a deletion timestamp.
	Deleting bool
	// Pause is what its annotations say of a pause, which may be over.
	Pause apis.Pause
	// Desired is how many pods the object asks for, where it is a number that asks.
	Desired int32
	// Removed are the slots that the object has given up, where slots have numbers.
	Removed slots.Removed
	// Invalid says why nothing can be planned for the object, such as a count that
	// is no number of pods. Its pods stay as they are. "": nothing is wrong.
	Invalid string
	// Template is what its pods are made from; nil: Problem says why none can be.
	Template *corev1.PodTemplateSpec
	Problem  string
	// TemplateHash tells templates apart; "": they are not told apart.
	TemplateHash string
	// HistoryLimit is how many revisions are kept of templates that no pod is made from
	// any more.
	HistoryLimit int
	// Wanted is the Deployment that it wants, if it has its pods through one.
	Wanted Wanted
	// Status is what the server has stored of what a plan writes, and Shows what it
	// has a place for.
	Status     Status
	StatusMask StatusMask
}

// Pod is one pod of an owner.
type Pod struct {
	Name string
	UID  types.UID
	// ResourceVersion is that of the pod as it was seen.
	ResourceVersion string
	// Slot is the slot whose name the pod bears, or slots.None.
	Slot slots.Slot
	// Replaces is the UID of the lost pod in whose place this one was made; "" for
	// the ordinary pod of a slot.
	Replaces types.UID
	// Finished says that the phase is Succeeded or Failed: such a pod does not
	// run again, but it keeps its name until it is deleted.
	Finished bool
	// Terminating says that the pod has a deletion timestamp; Grace is how long it
	// has to end.
	Terminating bool
	Grace       time.Duration
	// Ready is the pod's Ready condition.
	Ready bool
	// ReadySince is when Ready last changed.
	ReadySince time.Time
	// Template is the hash of the template that the pod was made from; "" if it does
	// not say.
	Template string
	// Unlabelled says that the pod lacks the identity label of its owner.
	Unlabelled bool
	// Deployment is the name of the one that has the pod; "" for a pod that the
	// owner controls itself.
	Deployment string
}

// stuckTerminatingAfter is how long past its grace period a pod must be for it to be given
// up. Its node does not answer: nobody can say whether it still runs.
const stuckTerminatingAfter = 5 * time.Minute

// stuckTerminating says that the pod should have been gone long ago. It is the one
// exception to "a name is never reused while taken": its slot is filled under
// another name, so that a node that never comes back does not hold up its
// owner for ever. The time runs from when this loop first saw the pod ending,
// by its own clock: the server's may be another.
func (v View) stuckTerminating(p Pod) bool {
	return p.Terminating && v.stuckTerminatingIn(p) == 0
}

func (v View) stuckTerminatingIn(p Pod) time.Duration {
	return left(v.endingSince(p), p.Grace+stuckTerminatingAfter, v.Now)
}

// endingSince is when this loop first saw the pod ending. If the clock was set back since,
// that is now.
func (v View) endingSince(p Pod) time.Time {
	if since, seen := v.Memory.Ending[p.UID]; seen && !since.After(v.Now) {
		return since
	}
	return v.Now
}

// live says that the pod takes a slot: it exists and has not finished. A
// terminating pod is live until it is gone.
func (p Pod) live() bool { return !p.Finished }

// active says that the pod is live and not on its way out.
func (p Pod) active() bool { return !p.Finished && !p.Terminating }

// Memory is what the loop remembers of one owner between plans. Losing it in a
// crash costs a shorter back-off and a status write, never a pod.
type Memory struct {
	// Failures holds the back-off of the slots whose pods finished.
	Failures map[slots.Slot]Failure
	// Ending is when this loop first saw each of the pods that are ending.
	Ending map[types.UID]time.Time
	// Refusals holds the creates that were refused, by slot: those under slots.None
	// hold up every slot of the owner.
	Refusals map[slots.Slot]Refusal
	// Written is what this loop last wrote into the status; nil: nothing yet.
	Written *Written
	// Applied is the Deployment that this loop last wrote; nil: none yet.
	Applied *Applied
	// Unrecorded is the template whose revision was refused last.
	Unrecorded Unrecorded
	// LabelRefused is when the server last refused to restore the labels of a pod.
	LabelRefused time.Time
}

// Written is a status as it was written, and as the server then had it stored.
type Written struct {
	// At is when it was written.
	At time.Time
	// Status is what was sent, Stored what came of it: a server drops what the
	// CRD's schema does not know.
	Status, Stored Status
	// Early is how many of the last writes came less than StatusInterval after the one
	// before them, since there was none for a while.
	Early int
}

// Next is the record of a write that follows w, nil for the first one.
func (w *Written) Next(at time.Time, sent, stored Status) *Written {
	next := &Written{At: at, Status: sent, Stored: stored}
	if w == nil {
		return next
	}
	switch since := at.Sub(w.At); {
	case since < StatusInterval:
		next.Early = w.Early + 1
	case since < 2*StatusInterval: // there was no pause
		next.Early = w.Early
	}
	return next
}

// Refused is the record after a write that was refused because the object had changed.
// It took place, for how often there is one.
func (w *Written) Refused(at time.Time) *Written {
	if w == nil {
		return nil
	}
	return w.Next(at, w.Status, w.Stored)
}

// Refusal is the server's answer to a create that will not go through by being
// repeated at once: quota, admission, rights, a name held by somebody else.
type Refusal struct {
	// Reason is a condition reason, such as QuotaExceeded.
	Reason string
	// Message is for a person: the server's own words.
	Message string
	// Generation of the owner when it was refused: a changed owner is tried at once.
	Generation int64
	// At is when it was refused, Count how many times in a row.
	At    time.Time
	Count int
}

// Actions is what a reconcile wants done, computed and not yet done.
type Actions struct {
	// Create lists the pods to make, lowest slot first.
	Create []Creation
	// Delete lists the pods to delete, by UID.
	Delete []Deletion
	// Label lists the pods whose identity labels are to be restored.
	Label []Pod
	// Apply is the Deployment to write; nil: none.
	Apply *Application
	// Remove lists the Deployments to delete, by UID.
	Remove []Deployment
	// History is what to do with the revisions, before all else.
	History History
	// NameTaken says whose the Deployment of the wanted name is; "": nobody else's.
	NameTaken string
	// Status is what the owner's status should say.
	Status Status
	// WriteStatus says that Status is to be written now.
	WriteStatus bool
	// StatusLater says that Status differs from what is stored, and is to be written later.
	StatusLater bool
	// Recheck is when to plan again without an event; zero: only on an event.
	Recheck time.Duration
	// Memory is what to remember for the next plan.
	Memory Memory
}

// Creation is one pod to make: the slot that it fills, the lost pod that it
// replaces, if it does, and the node that it is for, if it is for one.
type Creation struct {
	Slot     slots.Slot
	Replaces types.UID
	Node     string
}

// Deletion is one pod to delete and why.
type Deletion struct {
	Pod
	Why Reason
}

// Reason is the reason of a deletion, in a word.
type Reason string

// The reasons of deletions.
const (
	// Surplus pods are more than are wanted.
	Surplus Reason = "surplus"
	// Finished pods have ended and make room for a new one.
	Finished Reason = "finished"
	// Outdated pods are made from an older template, or bear the name of no wanted
	// slot, and are replaced.
	Outdated Reason = "outdated"
)

// Writes reports whether executing the plan writes anything but the status.
func (p Actions) Writes() bool {
	return len(p.Create)+len(p.Delete)+len(p.Label)+len(p.Remove) > 0 || p.Apply != nil || p.History.Writes()
}

// Active counts the pods that run or are about to: not finished, not on their
// way out.
func Active(pods []Pod) int {
	n := 0
	for _, p := range pods {
		if p.active() {
			n++
		}
	}
	return n
}
