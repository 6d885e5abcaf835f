package status

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Snapshot is all that a report is made from. What was not read is left empty
// and proves nothing.
type Snapshot struct {
	// Object is the one that the report is about.
	Object Object
	// Pods are pods that may be the object's; its own are found among them by
	// their controller references. Nil: they were not read.
	Pods Pods
	// Children are the objects that stand between the object and its pods, such as
	// ReplicaSets. There may be others among them, too.
	Children []Child
	// Events are those of the object, of its children and of its pods, as far as
	// they were read.
	Events []corev1.Event
	// Nodes are those that were asked for, by name: nil where there is no such
	// node.
	Nodes map[string]*corev1.Node
	// Loops are the run-controllers that were found by their leases. Nil: they were
	// not looked for, or not all of their leases may be read.
	Loops []leaserecord.Loop
	// Autoscalers and Budgets are those of the namespace.
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Budgets     []policyv1.PodDisruptionBudget
	// Acted says that whoever waits for the object has watched its controller
	// write since the last change of the spec.
	Acted bool
	// ActedBelow says the same of what stands right below the object.
	ActedBelow bool
	// Since is when whoever waits for the object first saw it as it is wanted now;
	// zero for who looks once.
	Since time.Time
	// Counted says that whoever waits for the object has changed its count right before
	// that. Of a change through the /scale of a custom resource, managedFields tell nothing.
	Counted bool
	// Unread names what this user may not read, such as "events".
	Unread []string
	// Now is when all this was read.
	Now time.Time
	// Commands makes hints of commands that reach the cluster that was read.
	Commands commandline.Context
}

// Probed reports whether a pod that is ready has a container that a probe may have
// ended at any time. Then events may tell what the pod does not.
func (e Snapshot) Probed() bool {
	f := newFamily(e)
	return slices.ContainsFunc(e.Pods, func(pod *PodInfo) bool { return pod.probed && f.has(pod) })
}
