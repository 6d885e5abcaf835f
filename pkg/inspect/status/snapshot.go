package status

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Snapshot is the input of a report. Parts that were not read are empty.
type Snapshot struct {
	Object Object
	// Pods and Children belong to the object by their controller references. Children, such as ReplicaSets, are
	// between the object and its pods. Pods is ordered by problem.ComparePods. It is nil if the pods were not read.
	Pods     []*problem.Pod
	Children []Child
	// Events are the events of the object, its children, and its pods.
	Events []corev1.Event
	// Nodes contains the nodes that were read, by name. A node that does not exist is nil.
	Nodes map[string]*corev1.Node
	// Loops lists the run-controllers that have a lease. It is nil if not all leases were read, for example
	// because another program reconciles the object.
	Loops []leaserecord.Loop
	// Autoscalers and Budgets contain all HorizontalPodAutoscalers and PodDisruptionBudgets in the namespace.
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Budgets     []policyv1.PodDisruptionBudget
	// Neighbors contains all pods in the namespace. If it is nil, the counts of budgets come from their status.
	Neighbors []*problem.Pod
	// Acted is set if the controller has written anything since the first snapshot of the current
	// spec. ActedBelow is set if a direct child or the number of pods has changed since then.
	Acted, ActedBelow bool
	// Since is the time of the first snapshot of the current spec. Counted is set if the count changed just before
	// Since. Both are needed because managedFields have no time for a change through /scale of a custom resource.
	Since   time.Time
	Counted bool
	// Unread lists resources that the user is not allowed to read, such as "events".
	Unread []string
	// Now is when the snapshot was taken.
	Now time.Time
	// Commands formats commands for hints.
	Commands commandline.Context
}
