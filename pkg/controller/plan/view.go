// Package plan decides what a reconcile does. It returns the actions for a view of one owner and
// its children. It imports no client, no clock, and no context, so that table tests can cover all
// rules. docs/architecture.md lists the rules.
package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// View is the complete input of a plan: one owner, its children, the memory of the loop about the
// owner, and the time.
type View struct {
	Owner Owner
	// Pods lists the pods that the owner controls or, if the pods belong to a Deployment, the pods
	// with the owner's label.
	Pods []Pod
	// Deployments lists the Deployments that the owner controls, and the Deployment with the name
	// that the owner wants, whoever controls it.
	Deployments []Deployment
	// Nodes lists the nodes of the cluster with only their names, labels, and taints.
	Nodes []*corev1.Node
	// Revisions lists the revisions that the owner controls. HistoryKnown means that they have been
	// read. Before that, no revision is written.
	Revisions    []Revision
	HistoryKnown bool
	Memory       Memory
	// Now is a wall clock time, because the monotonic clock stops while the machine is suspended.
	Now time.Time
}

// Owner is the object to reconcile.
type Owner struct {
	Kind, Name string
	UID        types.UID
	Generation int64
	// Deleting means that the object has a deletion timestamp.
	Deleting bool
	// Pause is the pause in the annotations. It can be over.
	Pause apis.Pause
	// Desired is the number of pods, for kinds with a replica count.
	Desired int32
	// Removed lists the slots that the user has removed, if slots are numbered.
	Removed slots.Removed
	// Invalid is the reason why no plan can be made for the object, such as a count that is not a
	// number. The loop does not touch the pods of an invalid object.
	Invalid string
	// Template is the template of the pods. If it is nil, Problem is the reason why no pod can be
	// created.
	Template *corev1.PodTemplateSpec
	Problem  string
	// TemplateHash identifies the template. If it is empty, pods are never outdated.
	TemplateHash string
	// HistoryLimit is the number of revisions to keep for templates without pods.
	HistoryLimit int
	// Wanted is the Deployment that the object wants, if its strategy uses one.
	Wanted Wanted
	// Status holds the fields of the stored status that a plan writes. StatusPaths holds the paths
	// that the kind has for these fields.
	Status      Status
	StatusPaths kinds.StatusPaths
}

// Pod is one pod of an owner.
type Pod struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Slot is the slot in the name of the pod, or slots.None.
	Slot slots.Slot
	// Replaces is the UID of the stuck pod that this pod replaces, or "".
	Replaces types.UID
	// Finished means that the phase is Succeeded or Failed. The pod does not run again, but its
	// name is in use until it is deleted.
	Finished bool
	// Terminating means that the pod has a deletion timestamp. Grace is its grace period.
	Terminating bool
	Grace       time.Duration
	// ReadySince is the time at which the pod became ready.
	Ready      bool
	ReadySince time.Time
	// Template is the template hash in the label of the pod, or "" without the label.
	Template string
	// Unlabeled means that the pod lacks the label that identifies its owner.
	Unlabeled bool
	// Deployment is the name of the Deployment that the pod belongs to, or "".
	Deployment string
}

// live reports whether the pod counts as a replica. A terminating pod counts until it ends.
func (p Pod) live() bool { return !p.Finished }

// Active reports whether the pod is live and not terminating.
func (p Pod) Active() bool { return !p.Finished && !p.Terminating }

// Active returns the number of active pods.
func Active(pods []Pod) int {
	n := 0
	for _, p := range pods {
		if p.Active() {
			n++
		}
	}
	return n
}

// stuckTerminatingAfter is how long a pod can exceed its grace period before it counts as stuck.
// The node of a stuck pod does not respond, so it is unknown whether the pod still runs.
const stuckTerminatingAfter = 5 * time.Minute

// stuckTerminating reports whether the pod should have ended long ago. Its slot is then filled by a
// pod with a second name, so that a lost node does not block the owner forever. The time starts
// when this loop first sees the pod terminating. It is measured with the loop's own clock, because
// the server's clock can differ.
func (v View) stuckTerminating(p Pod) bool {
	return p.Terminating && v.stuckTerminatingIn(p) == 0
}

func (v View) stuckTerminatingIn(p Pod) time.Duration {
	return left(v.endingSince(p), p.Grace+stuckTerminatingAfter, v.Now)
}

// endingSince returns the time at which this loop first saw the pod terminating. It returns now if
// this is the first time, or if the clock was set back in the meantime.
func (v View) endingSince(p Pod) time.Time {
	if since, seen := v.Memory.Ending[p.UID]; seen && !since.After(v.Now) {
		return since
	}
	return v.Now
}
