// Package plan computes the actions for a reconcile from a view of one owner and its children. It imports no client, no
// clock, and no context, so that table tests can cover all rules. docs/architecture.md lists the rules.
package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// View is the input of a plan: one owner, its children, the nodes, the memory of earlier plans, and the time.
type View struct {
	Owner Owner
	// Pods lists the pods that the owner controls or, if it wants a Deployment, Deployment pods with the owner's label.
	Pods []Pod
	// Deployments lists the Deployments that this program created for the owner, and a foreign one with the wanted name.
	Deployments []Deployment
	// Nodes lists all nodes if the owner wants one pod per node. Plans read only the names, labels, and taints of nodes.
	Nodes []*corev1.Node
	// Revisions lists the owner's revisions. If HistoryKnown is false, they have not been read, and none is written.
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
	// Pause is the pause in the annotations. Its end may be in the past.
	Pause apis.Pause
	// Desired is the replica count, for kinds that have one.
	Desired int32
	// Removed lists the numbered slots that the user has removed.
	Removed slots.Removed
	// Invalid is the reason why the object cannot be reconciled, or "". An invalid object keeps its pods.
	Invalid string
	// Template is the pod template, or nil if it is invalid. Problem is the reason why no pod can be created, or "".
	Template *corev1.PodTemplateSpec
	Problem  string
	// TemplateHash identifies the template. If it is empty, pods are never outdated.
	TemplateHash string
	// HistoryLimit is the maximum number of kept revisions whose template is not in use.
	HistoryLimit int
	// Wanted is the Deployment that the object wants, if its strategy uses one.
	Wanted Wanted
	// Status is the stored status, limited to the fields that plans write. StatusPaths holds the paths of these fields.
	Status      Status
	StatusPaths kinds.StatusPaths
}

// Pod is one pod of an owner.
type Pod struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Slot is the slot to which the pod's name belongs, or slots.None.
	Slot slots.Slot
	// Replaces is the UID of the stuck pod that this pod replaces, or "".
	Replaces types.UID
	// Finished means that the phase is Succeeded or Failed. The pod keeps its name until it is deleted.
	Finished bool
	// Terminating means that the pod has a deletion timestamp. Grace is the pod's grace period.
	Terminating bool
	Grace       time.Duration
	// ReadySince is the time at which the pod became ready. Plans read it only if Ready is set.
	Ready      bool
	ReadySince time.Time
	// Template is the template hash in the pod's label, or "" if there is no label.
	Template string
	// Label is the UID in the owner label, or "".
	Label types.UID
	// Deployment is the name of the Deployment that the pod belongs to, or "".
	Deployment string
	// Failure and FailureCode explain why the pod will not become ready by itself, or are "". Plans do not read them.
	Failure     string
	FailureCode problem.Code
}

// live reports whether the pod has not finished, even if it is terminating.
func (p Pod) live() bool { return !p.Finished }

// Active reports whether the pod is live and not terminating.
func (p Pod) Active() bool { return !p.Finished && !p.Terminating }

// Active returns the number of active pods.
func Active(pods []Pod) int { return int(problem.Count(pods, Pod.Active)) }

// stuckTerminatingAfter is how long a pod may exceed its grace period before it counts as stuck. The
// node of a stuck pod probably does not respond, so the pod might still run.
const stuckTerminatingAfter = 5 * time.Minute

// stuckTerminating reports whether the pod is stuck. If its slot is numbered, a pod with another name then fills the
// slot, so that a lost node does not block the owner forever. The time limit starts when this controller first sees the
// pod terminating. The deletion timestamp is not used, because the server's clock may differ.
func (v View) stuckTerminating(p Pod) bool {
	return p.Terminating && v.stuckTerminatingIn(p) == 0
}

func (v View) stuckTerminatingIn(p Pod) time.Duration {
	return left(v.endingSince(p), p.Grace+stuckTerminatingAfter, v.Now)
}

// endingSince returns the time at which this controller first saw the pod terminating with its current
// grace period. It returns Now if this is the first time, or if the clock has been set back since.
func (v View) endingSince(p Pod) time.Time {
	if seen := v.Memory.Ending[p.UID]; !seen.Since.IsZero() && seen.Grace == p.Grace && !seen.Since.After(v.Now) {
		return seen.Since
	}
	return v.Now
}
