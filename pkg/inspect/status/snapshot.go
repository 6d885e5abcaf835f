package status

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
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

// Child is an object that has a controller and controls others.
type Child struct {
	APIVersion, Kind, Namespace, Name string
	// UID is its own, Controller that of what controls it.
	UID, Controller types.UID
	Created         time.Time
	// Managers are those who wrote its fields.
	Managers []metav1.ManagedFieldsEntry
	// Generation and ObservedGeneration tell whether its controller has seen it;
	// Tracked says that its status tells.
	Generation, ObservedGeneration int64
	Tracked                        bool
	// Desired, Current, Ready, Updated and Available are its counts of pods, where
	// it has them.
	Desired, Current, Ready, Updated, Available *int32
	// UpdatedWanted is how many of the newest template are enough: nil is all.
	UpdatedWanted *int32
	Conditions    []metav1.Condition
}

// Own are those of the children that belong to the object.
func (e Snapshot) Own() []Child { return newFamily(e).own(e.Children) }

// OwnPods are those of the pods that belong to the object.
func (e Snapshot) OwnPods() Pods { return newFamily(e).pods(e.Pods) }

// HasPods reports whether one of the pods belongs to the object.
func (e Snapshot) HasPods() bool {
	f := newFamily(e)
	return slices.ContainsFunc(e.Pods, f.has)
}

// workloads are the children that have a count of pods.
func workloads(children []Child) []Child {
	return slices.DeleteFunc(slices.Clone(children), func(c Child) bool { return c.Desired == nil })
}

// unsettled says what a child is still missing, if it is.
func (c Child) unsettled() (string, bool) {
	name := c.Kind + "/" + c.Name
	if c.Tracked && c.ObservedGeneration < c.Generation {
		return fmt.Sprintf("%s: its controller has not seen the last change (generation %d, observed %d)", name, c.Generation, c.ObservedGeneration), true
	}
	if c.Desired == nil {
		return "", false
	}
	ready := func(n int32, what string) string {
		return fmt.Sprintf("%s: %d of %d pods %s", name, n, *c.Desired, what)
	}
	wanted := *c.Desired
	if c.UpdatedWanted != nil {
		wanted = *c.UpdatedWanted
	}
	switch {
	case c.Updated != nil && *c.Updated < wanted:
		return ready(*c.Updated, "updated"), true
	case c.Ready != nil && *c.Ready < *c.Desired:
		return ready(*c.Ready, "ready"), true
	case c.Available != nil && *c.Available < *c.Desired:
		return ready(*c.Available, "available"), true
	case c.Current != nil && *c.Current > *c.Desired:
		return fmt.Sprintf("%s: %s, %d too many", name, problem.Quantity(*c.Current, "pod"), *c.Current-*c.Desired), true
	}
	return "", false
}

// deepest is how many objects may stand between an object and its pods. Only a
// ring of controller references, which the server lets nobody make, has more.
const deepest = 8

// family knows what belongs to an object through controller references.
type family struct {
	uid types.UID
	// owners are the controllers of the children.
	owners map[types.UID]types.UID
}

func newFamily(e Snapshot) family {
	f := family{uid: e.Object.UID, owners: make(map[types.UID]types.UID, len(e.Children))}
	for _, c := range e.Children {
		f.owners[c.UID] = c.Controller
	}
	return f
}

// leads reports whether controller references lead from a UID to the object.
func (f family) leads(from types.UID) bool {
	for range deepest + 1 {
		if from == f.uid {
			return from != ""
		}
		owner, known := f.owners[from]
		if !known {
			return false
		}
		from = owner
	}
	return false
}

// is reports whether a pod is the object itself.
func (f family) is(pod *PodInfo) bool { return f.uid != "" && pod.model.UID == f.uid }

// has reports whether a pod is one of the object's.
func (f family) has(pod *PodInfo) bool { return f.leads(pod.owner) || f.is(pod) }

// pods picks those of the object. A pod is its own.
func (f family) pods(all Pods) Pods {
	owned := make(Pods, 0, len(all))
	for _, pod := range all {
		if f.has(pod) {
			owned = append(owned, pod)
		}
	}
	return owned
}

// own picks the children of the object.
func (f family) own(children []Child) []Child {
	var owned []Child
	for _, c := range children {
		if f.leads(c.Controller) && c.UID != f.uid {
			owned = append(owned, c)
		}
	}
	return owned
}

// happened are events by what they are about, in the order in which they last
// happened.
type happened map[types.UID][]corev1.Event

func byObject(events []corev1.Event) happened {
	of := happened{}
	for _, e := range events {
		of[e.InvolvedObject.UID] = append(of[e.InvolvedObject.UID], e)
	}
	return of
}
