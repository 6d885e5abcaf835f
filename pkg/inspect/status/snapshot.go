package status

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Snapshot is the input of a report. A part that was not read is empty, which proves nothing.
type Snapshot struct {
	Object Object
	// Pods and Children are those of the object, by their controller references. Children stand
	// between the object and its pods, such as ReplicaSets. Pods are nil if they were not read.
	Pods     problem.Pods
	Children []Child
	// Events are the events of the object, its children, and its pods.
	Events []corev1.Event
	// Nodes holds the requested nodes by name, or nil for a node that does not exist.
	Nodes map[string]*corev1.Node
	// Loops are the run-controllers that have a lease, or nil if no one looked for them or the user
	// is not allowed to read all leases.
	Loops []leaserecord.Loop
	// Autoscalers and Budgets hold all objects of the namespace.
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Budgets     []policyv1.PodDisruptionBudget
	// Acted is set if a wait has seen the controller write since the last change of the spec.
	// ActedBelow is set if it has seen a change of a direct child.
	Acted, ActedBelow bool
	// Since is the time at which a wait first saw the current spec. Counted is set if the count was
	// changed right before Since. Both are needed because managedFields have no time for a change
	// through the /scale of a custom resource.
	Since   time.Time
	Counted bool
	// Unread lists what this user is not allowed to read, such as "events".
	Unread []string
	// Now is when the snapshot was taken.
	Now time.Time
	// Commands composes hints for the cluster that was read.
	Commands commandline.Context
}

// Probed reports whether a probe may end a container of a ready pod, which only events can show.
func (e Snapshot) Probed() bool {
	return slices.ContainsFunc(e.Pods, func(pod *problem.Pod) bool { return pod.Probed })
}
