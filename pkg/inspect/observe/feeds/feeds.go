// Package feeds lists or watches children, pods, events, nodes, and leases for targets. Targets that need the same
// type, namespace, and selector share a single list and watch.
package feeds

import (
	"context"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Feeds contains a feed for each requested combination of a type, a namespace, and a selector.
type Feeds struct {
	*kube.Clients
	Once   bool // list the objects once, and do not watch them
	Shared bool // several targets can share the feeds of their namespace
	// Connection, if set, records whether the server can be reached.
	Connection *follow.Connection

	// Stop stops the feeds, and waits until their goroutines have ended.
	Stop func()
	// begin runs a function in a goroutine, with a context that Stop cancels.
	begin func(func(context.Context))

	mu sync.Mutex
	// of maps a key to its feed.
	of map[any]any
}

type (
	// Pods is a feed of pods. It omits large fields that a report does not need.
	Pods = follow.Feed[*corev1.Pod, *problem.Pod]
	// Children is a feed of the objects between targets and their pods.
	Children = follow.Feed[*unstructured.Unstructured, status.Child]
	// Events is a feed of the events about targets and their children.
	Events = follow.Feed[*corev1.Event, *corev1.Event]
	// Nodes is the feed of a single node, which is read by name.
	Nodes = follow.Feed[*corev1.Node, *corev1.Node]
	// Leases is a feed of the leases of run-controllers.
	Leases = follow.Feed[*coordinationv1.Lease, Lease]
)

// Lease is the run-controller that a lease records. Anyone who can create leases can create many, so each lease is
// parsed only once for all targets.
type Lease struct {
	Name string
	Loop leaserecord.Loop
	// Here means that the run-controller runs or ran on this machine.
	Here bool
}

// key identifies a feed. V distinguishes the methods of Feeds, and kind the feeds of Children.
type key[V any] struct {
	kind      schema.GroupVersionKind
	namespace string
	selected  metav1.ListOptions
}

// New returns feeds that run until the context ends or Stop is called.
func New(ctx context.Context, c *kube.Clients, connection *follow.Connection, shared bool) *Feeds {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	return &Feeds{
		Clients: c, Connection: connection, Shared: shared, of: map[any]any{},
		begin: func(do func(context.Context)) { running.Go(func() { do(ctx) }) },
		Stop:  func() { cancel(); running.Wait() },
	}
}

// feedOf returns the feed of a key. A new feed calls objects once, and starts to read the selected objects or, if
// objects returns an error, refuses with this error.
func feedOf[T follow.Object, V any](
	all *Feeds, k key[V], objects func() (*cache.ListWatch, error), keep func(T) (V, follow.Reference),
) *follow.Feed[T, V] {
	all.mu.Lock()
	defer all.mu.Unlock()
	if f, is := all.of[k].(*follow.Feed[T, V]); is {
		return f
	}
	f := follow.New(keep)
	all.of[k] = f
	from, err := objects()
	if err != nil {
		f.Refuse(err)
		return f
	}
	all.begin(func(ctx context.Context) {
		if !all.Once {
			f.Run(ctx, from, k.selected, all.Connection)
		} else if err := f.List(ctx, from, k.selected); err != nil {
			f.Refuse(err)
		}
	})
	return f
}

// known returns a function for feedOf that need not look up a resource.
func known(from *cache.ListWatch) func() (*cache.ListWatch, error) {
	return func() (*cache.ListWatch, error) { return from, nil }
}

// Pods returns the feed of the pods that match a selector.
func (f *Feeds) Pods(namespace, selector string) *Pods {
	k := key[*problem.Pod]{namespace: namespace, selected: metav1.ListOptions{LabelSelector: selector}}
	objects := known(follow.SourceOf(f.Core.Pods(namespace)))
	return feedOf(f, k, objects, func(pod *corev1.Pod) (*problem.Pod, follow.Reference) {
		trimPod(pod)
		return problem.NewPod(pod), controllerOf(pod)
	})
}

// Events returns the feed of the events that match a field selector.
func (f *Feeds) Events(namespace, selector string) *Events {
	k := key[*corev1.Event]{namespace: namespace, selected: metav1.ListOptions{FieldSelector: selector}}
	objects := known(follow.SourceOf(f.Core.Events(namespace)))
	return feedOf(f, k, objects, func(event *corev1.Event) (*corev1.Event, follow.Reference) {
		return event, follow.Reference{UID: event.InvolvedObject.UID, Kind: event.InvolvedObject.GroupVersionKind()}
	})
}

// Node returns the feed of a node.
func (f *Feeds) Node(name string) *Nodes {
	k := key[*corev1.Node]{selected: follow.ByName(name)}
	objects := known(follow.SourceOf(f.Core.Nodes()))
	return feedOf(f, k, objects, func(node *corev1.Node) (*corev1.Node, follow.Reference) { return node, follow.Reference{} })
}

// Leases returns the feed of the run-controller leases in a namespace.
func (f *Feeds) Leases(namespace string) *Leases {
	k := key[Lease]{namespace: namespace, selected: metav1.ListOptions{LabelSelector: holder.Selector}}
	objects := known(follow.SourceOf(f.Clients.Leases.Leases(namespace)))
	return feedOf(f, k, objects, func(lease *coordinationv1.Lease) (Lease, follow.Reference) {
		loop := leaserecord.LoopOf(lease)
		return Lease{lease.Name, loop, holder.Here(loop)}, follow.Reference{}
	})
}

// Children returns the feed of the selected objects of a kind. For objects without a controller, it keeps only the UID.
func (f *Feeds) Children(gvk schema.GroupVersionKind, namespace, selector string) *Children {
	k := key[status.Child]{gvk, namespace, metav1.ListOptions{LabelSelector: selector}}
	objects := func() (*cache.ListWatch, error) {
		mapping, err := f.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, err
		}
		return follow.SourceOf(f.Dynamic.Resource(mapping.Resource).Namespace(namespace)), nil
	}
	return feedOf(f, k, objects, func(obj *unstructured.Unstructured) (status.Child, follow.Reference) {
		controller := controllerOf(obj)
		if controller.UID == "" {
			return status.Child{UID: obj.GetUID()}, controller
		}
		return facts.Child(obj), controller
	})
}

func controllerOf(obj metav1.Object) follow.Reference {
	ref := ptr.Deref(metav1.GetControllerOfNoCopy(obj), metav1.OwnerReference{})
	return follow.Reference{UID: ref.UID, Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)}
}

// trimPod keeps only the fields of the spec that a report uses, and removes who manages the fields of the pod.
func trimPod(pod *corev1.Pod) {
	old := pod.Spec
	pod.ManagedFields, pod.Spec = nil, corev1.PodSpec{
		InitContainers: old.InitContainers, Containers: old.Containers, EphemeralContainers: old.EphemeralContainers,
		RestartPolicy: old.RestartPolicy, NodeName: old.NodeName, ReadinessGates: old.ReadinessGates,
	}
	for _, containers := range [][]corev1.Container{old.InitContainers, old.Containers} {
		for i, c := range containers {
			containers[i] = corev1.Container{Name: c.Name, Image: c.Image, RestartPolicy: c.RestartPolicy, LivenessProbe: c.LivenessProbe}
		}
	}
}
