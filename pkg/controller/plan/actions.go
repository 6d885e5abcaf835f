package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Actions is the result of a plan.
type Actions struct {
	// Operations are the writes to children, in order.
	Operations []Operation
	// NameTaken is a message about a child that has a wanted name but belongs to someone else, or "".
	NameTaken string
	// Status is the status that the owner should have.
	Status Status
	// WriteStatus means that Status must be written now. StatusLater means that the plan after Recheck may write it.
	WriteStatus, StatusLater bool
	// Recheck is the delay until the next plan if there is no event. Zero means to wait for an event.
	Recheck time.Duration
	// Memory is the View.Memory of the next plan.
	Memory Memory
}

// Operation is one write to a child.
type Operation struct {
	Verb Verb
	Kind Kind
	Name string
	// UID and ResourceVersion are preconditions of the write. Both are empty if the child did not
	// exist in the view. ResourceVersion is also empty if later changes to the child do not matter.
	UID             types.UID
	ResourceVersion string
	// Slot is the slot of a pod, or 0 for other children.
	Slot slots.Slot
	// Replaces is the UID of the stuck pod that this pod replaces, or "". Node is the node of a new pod, or "".
	Replaces types.UID
	Node     string
	// Optional means that later operations are executed even if this operation fails.
	Optional bool
	// Reason is the reason why a pod is deleted.
	Reason Reason
	// Fields holds the fields to apply.
	Fields map[string]any
	// Number is the new number of a revision.
	Number int64
	// Text describes the operation. If it is "", String uses the verb, the kind, and the name.
	Text string
}

// Verb is the type of a write.
type Verb string

// The verbs of operations.
const (
	Create Verb = "create"
	// Try is a dry run of a create. If it fails for a reason other than a quota, later operations are skipped.
	Try    Verb = "try"
	Delete Verb = "delete"
	Patch  Verb = "patch"
	// Apply is a server-side apply.
	Apply Verb = "write"
)

// Kind is the kind of a child, as messages spell it.
type Kind string

// The kinds of children.
const (
	KindPod        Kind = "pod"
	KindDeployment Kind = "Deployment"
	KindRevision   Kind = "revision"
)

// Reason is a one-word reason for a deletion.
type Reason string

// The reasons for deletions.
const (
	// Surplus pods exceed the number that the owner wants, or are on a node that must not run them.
	Surplus Reason = "surplus"
	// Finished pods do not run again. They are replaced if their slot is wanted.
	Finished Reason = "finished"
	// Outdated pods do not have the current template, or fill no wanted slot. They are replaced.
	Outdated Reason = "outdated"
)

// String describes the operation, such as "write Deployment web".
func (o Operation) String() string {
	if o.Text != "" {
		return o.Text
	}
	return string(o.Verb) + " " + string(o.Kind) + " " + o.Name
}

// Writes reports whether the plan writes anything except the status.
func (a Actions) Writes() bool { return len(a.Operations) > 0 }

// Ready reports whether the owner has its desired state and no operations are left. An owner that is
// being deleted counts as ready, because the controller does nothing for it.
func (a Actions) Ready(v View) bool {
	return v.Owner.Deleting || v.Owner.Problem == "" && meta.IsStatusConditionTrue(a.Status.Conditions, apis.ConditionReady) && !a.Writes()
}

func (a Actions) count(verb Verb) int32 {
	return problem.Count(a.Operations, func(o Operation) bool { return o.Verb == verb })
}

// Decide returns the actions for an owner. It calls rules to plan the children, and puts the writes of revisions before
// the other operations. For a paused owner, it keeps only the write of the status, and limits Recheck to the rest of
// the pause. For an owner that is being deleted, it plans nothing, because the garbage collector removes the children.
func Decide(v View, rules func(View) Actions) Actions {
	if v.Owner.Deleting {
		return Actions{Memory: v.Memory}
	}
	a := rules(v)
	a.Operations = append(Revisions(v), a.Operations...)
	if v.Paused() {
		a.Operations = nil
		a.Recheck = sooner(a.Recheck, v.Owner.Pause.Left(v.Now))
	}
	return a
}

// sooner returns the shorter of two delays. It ignores a delay of zero.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
