// Package feeds lists or watches the children, pods, events, nodes, and leases of targets. Each type,
// namespace, and selector has a single list and watch.
package feeds

import (
	"context"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Mode configures how feeds read objects.
type Mode struct {
	Once   bool // list the objects once, and do not watch them
	Shared bool // several targets can share the feeds of their namespace
}

// Feeds contains a feed for each type, namespace, and selector.
type Feeds struct {
	Mode

	Clients *kube.Factory
	Dynamic dynamic.Interface
	// Connection, if set, records whether the server can be reached.
	Connection *follow.Connection

	core corev1client.CoreV1Interface
	// Stop stops the feeds, and waits until their goroutines have ended.
	Stop func()
	// begin runs a function in a goroutine, with a context that Stop cancels.
	begin func(func(context.Context))

	mu sync.Mutex
	// of maps a typed key to its feed.
	of map[any]any
}

type (
	// Pods is a feed of pods. It keeps only the fields that a report needs.
	Pods = follow.Feed[*corev1.Pod, *problem.Pod]
	// Children is a feed of the objects between targets and their pods.
	Children = follow.Feed[*unstructured.Unstructured, status.Child]
	// Events is a feed of the events about targets and their children.
	Events = follow.Feed[*corev1.Event, *corev1.Event]
	// Nodes is the feed of a single node, which is read by name.
	Nodes = follow.Feed[*corev1.Node, *corev1.Node]
	// Leases is a feed of the leases of run-controllers.
	Leases = follow.Feed[*unstructured.Unstructured, Lease]
)

// Lease is the run-controller that a lease records, or an error if the lease cannot be parsed. Anyone who can
// create leases can create many, so each lease is parsed only once for all targets.
type Lease struct {
	name string
	Loop leaserecord.Loop
	// Here means that the run-controller runs or ran on this machine.
	Here bool
	Err  error
}

type key struct {
	schema.GroupVersionKind
	namespace, selector string
}

// runner is a feed of any type.
type runner interface {
	Run(ctx context.Context, from follow.Source, selected metav1.ListOptions, connection *follow.Connection)
	List(ctx context.Context, from follow.Source, selected metav1.ListOptions) error
	Refuse(error)
}

// New returns feeds that run until the context ends or Stop is called.
func New(ctx context.Context, c *kube.Factory, connection *follow.Connection, m Mode) (*Feeds, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	return &Feeds{
		Mode: m, Clients: c, Dynamic: client, Connection: connection, core: core, of: map[any]any{},
		begin: func(do func(context.Context)) { running.Go(func() { do(ctx) }) },
		Stop:  func() { cancel(); running.Wait() },
	}, nil
}

// run starts to read the selected objects of a source into a feed.
func (s *Feeds) run(f runner, from follow.Source, selected metav1.ListOptions) {
	s.begin(func(ctx context.Context) {
		if !s.Once {
			f.Run(ctx, from, selected, s.Connection)
		} else if err := f.List(ctx, from, selected); err != nil {
			f.Refuse(err)
		}
	})
}

// typed adds the type of the feed to a key, because Pods and Children may have the same key.
type typed[F any] struct{ key }

func feedOf[F any](s *Feeds, k key, begin func() *F) *F {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, is := s.of[typed[F]{k}].(*F); is {
		return f
	}
	f := begin()
	s.of[typed[F]{k}] = f
	return f
}

func core(kind, namespace, selector string) key {
	return key{corev1.SchemeGroupVersion.WithKind(kind), namespace, selector}
}

// Pods returns the feed of the pods that match a selector.
func (s *Feeds) Pods(namespace, selector string) *Pods {
	return feedOf(s, core("Pod", namespace, selector), func() *Pods {
		keep := func(pod *corev1.Pod) *problem.Pod {
			trimPod(pod)
			return problem.NewPod(pod)
		}
		f := follow.New(keep, problem.ComparePods, func(pod *problem.Pod) (types.UID, schema.GroupVersionKind) {
			return pod.Owner, pod.OwnerKind
		})
		s.run(f, follow.SourceOf(s.core.Pods(namespace)), metav1.ListOptions{LabelSelector: selector})
		return f
	})
}

// Events returns the feed of the events that match a field selector.
func (s *Feeds) Events(namespace, selector string) *Events {
	return feedOf(s, core("Event", namespace, selector), func() *Events {
		f := follow.New(follow.Whole[*corev1.Event], follow.Compare, func(event *corev1.Event) (types.UID, schema.GroupVersionKind) {
			return event.InvolvedObject.UID, event.InvolvedObject.GroupVersionKind()
		})
		s.run(f, follow.SourceOf(s.core.Events(namespace)), metav1.ListOptions{FieldSelector: selector})
		return f
	})
}

// Node returns the feed of a node.
func (s *Feeds) Node(name string) *Nodes {
	return feedOf(s, core("Node", "", name), func() *Nodes {
		f := follow.New(follow.Whole[*corev1.Node], follow.Compare, nil)
		s.run(f, follow.SourceOf(s.core.Nodes()), follow.ByName(name))
		return f
	})
}

// Leases returns the feed of the run-controller leases in a namespace.
func (s *Feeds) Leases(namespace string) *Leases {
	return feedOf(s, key{coordinationv1.SchemeGroupVersion.WithKind("Lease"), namespace, ""}, func() *Leases {
		f := follow.New(func(obj *unstructured.Unstructured) Lease {
			loop, err := holder.Read(obj)
			return Lease{obj.GetName(), loop, holder.Here(loop), err}
		}, func(a, b Lease) int { return strings.Compare(a.name, b.name) }, nil)
		s.run(f, follow.SourceOf(holder.Leases(s.Dynamic, namespace)), metav1.ListOptions{LabelSelector: holder.Selector})
		return f
	})
}

// Children returns the feed of the selected objects of a kind. For an object without a controller,
// the feed keeps only the UID.
func (s *Feeds) Children(gvk schema.GroupVersionKind, namespace, selector string) *Children {
	return feedOf(s, key{gvk, namespace, selector}, func() *Children {
		keep := func(obj *unstructured.Unstructured) status.Child {
			if metav1.GetControllerOfNoCopy(obj) == nil {
				return status.Child{UID: obj.GetUID()}
			}
			return facts.Child(obj)
		}
		byUID := func(a, b status.Child) int { return strings.Compare(string(a.UID), string(b.UID)) }
		f := follow.New(keep, byUID, func(c status.Child) (types.UID, schema.GroupVersionKind) { return c.Controller, c.ControllerKind })
		objects, err := s.objectsOf(gvk, namespace)
		if err != nil {
			f.Refuse(err)
			return f
		}
		s.run(f, follow.SourceOf(objects), metav1.ListOptions{LabelSelector: selector})
		return f
	})
}

func (s *Feeds) objectsOf(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapper, err := s.Clients.Mapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return s.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// trimPod removes large fields that a report does not use.
func trimPod(pod *corev1.Pod) {
	pod.ManagedFields, pod.Spec.Volumes, pod.Spec.Tolerations = nil, nil, nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env, containers[i].VolumeMounts = nil, nil
		}
	}
}
