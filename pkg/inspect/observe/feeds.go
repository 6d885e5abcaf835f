package observe

import (
	"context"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// mode is how feeds read.
type mode struct {
	// once means that they list the objects and do not watch them.
	once bool
	// shared means that several targets may share what there is in their namespace.
	shared bool
}

// feeds hold the objects that targets consist of. Targets share them: there is one list and
// one watch per type and namespace.
type feeds struct {
	mode

	clients *kube.Factory
	dynamic dynamic.Interface
	core    corev1client.CoreV1Interface
	// connection, if set, records whether the server can be reached.
	connection *follow.Connection
	// begin runs a function until the feeds are stopped; stop stops them.
	begin func(func(context.Context))
	stop  func()

	mu sync.Mutex
	// of are the feeds by their types and keys.
	of map[any]any
}

type (
	podFeed    = follow.Feed[*corev1.Pod, *status.PodInfo]
	childFeed  = follow.Feed[*unstructured.Unstructured, child]
	eventFeed  = follow.Feed[*corev1.Event, *corev1.Event]
	nodeFeed   = follow.Feed[*corev1.Node, *corev1.Node]
	objectFeed = follow.Feed[*unstructured.Unstructured, *unstructured.Unstructured]
)

// key identifies the content of a feed: the selected objects of a kind.
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

// newFeeds makes feeds that end with the context, or when they are stopped.
func newFeeds(ctx context.Context, c *kube.Factory, connection *follow.Connection, m mode) (*feeds, error) {
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
	return &feeds{
		mode: m, clients: c, dynamic: client, core: core, connection: connection, of: map[any]any{},
		begin: func(do func(context.Context)) { running.Go(func() { do(ctx) }) },
		stop:  func() { cancel(); running.Wait() },
	}, nil
}

// run fills a feed with the selected objects of a source.
func (s *feeds) run(f runner, from follow.Source, selected metav1.ListOptions) {
	s.begin(func(ctx context.Context) {
		if !s.once {
			f.Run(ctx, from, selected, s.connection)
		} else if err := f.List(ctx, from, selected); err != nil {
			f.Refuse(err)
		}
	})
}

// typed adds the type of the feed to a key, because pods may also be children.
type typed[F any] struct{ key }

// feedOf returns the feed of a key, and starts it if necessary.
func feedOf[F any](s *feeds, k key, begin func() *F) *F {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, is := s.of[typed[F]{k}].(*F); is {
		return f
	}
	f := begin()
	s.of[typed[F]{k}] = f
	return f
}

// core returns the key of objects of the core group.
func core(kind, namespace, selector string) key {
	return key{corev1.SchemeGroupVersion.WithKind(kind), namespace, selector}
}

// pods returns the feed of the pods that a selector selects.
func (s *feeds) pods(namespace, selector string) *podFeed {
	return feedOf(s, core("Pod", namespace, selector), func() *podFeed {
		keep := func(pod *corev1.Pod) *status.PodInfo {
			trimPod(pod)
			return status.NewPodInfo(pod)
		}
		f := follow.New(keep, func(a, b *status.PodInfo) int { return status.ComparePods(a.Pod, b.Pod) })
		pods := s.core.Pods(namespace)
		from := follow.SourceOf(pods)
		from.List = func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			page, err := pods.List(ctx, opts)
			if err != nil {
				return nil, err
			}
			for i := range page.Items {
				trimPod(&page.Items[i]) // most of the memory of large lists
			}
			return page, nil
		}
		s.run(f, from, metav1.ListOptions{LabelSelector: selector})
		return f
	})
}

// events returns the feed of the events that a field selector selects.
func (s *feeds) events(namespace, selector string) *eventFeed {
	return feedOf(s, core("Event", namespace, selector), func() *eventFeed {
		f := follow.New(follow.Whole[*corev1.Event], follow.Compare)
		s.run(f, follow.SourceOf(s.core.Events(namespace)), metav1.ListOptions{FieldSelector: selector})
		return f
	})
}

// node returns the feed of a node.
func (s *feeds) node(name string) *nodeFeed {
	return feedOf(s, core("Node", "", name), func() *nodeFeed {
		f := follow.New(follow.Whole[*corev1.Node], follow.Compare)
		s.run(f, follow.SourceOf(s.core.Nodes()), follow.ByName(name))
		return f
	})
}

// leases returns the feed of the leases of the run-controllers in a namespace.
func (s *feeds) leases(namespace string) *objectFeed {
	return feedOf(s, key{coordinationv1.SchemeGroupVersion.WithKind("Lease"), namespace, ""}, func() *objectFeed {
		f := follow.New(follow.Whole[*unstructured.Unstructured], follow.Compare)
		s.run(f, follow.SourceOf(holder.Leases(s.dynamic, namespace)), metav1.ListOptions{LabelSelector: holder.Selector})
		return f
	})
}

// child is an object between a target and its pods, with the kind of its controller.
type child struct {
	status.Child
	owner schema.GroupVersionKind
}

// children returns the feed of the selected objects of a kind, without those that have no
// controller.
func (s *feeds) children(gvk schema.GroupVersionKind, namespace, selector string) *childFeed {
	return feedOf(s, key{gvk, namespace, selector}, func() *childFeed {
		keep := func(obj *unstructured.Unstructured) child {
			owner := metav1.GetControllerOfNoCopy(obj)
			if owner == nil {
				return child{Child: status.Child{UID: obj.GetUID()}}
			}
			return child{facts.Child(obj), schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)}
		}
		f := follow.New(keep, func(a, b child) int { return strings.Compare(string(a.UID), string(b.UID)) })
		objects, err := s.objectsOf(gvk, namespace)
		if err != nil {
			f.Refuse(err)
			return f
		}
		s.run(f, follow.SourceOf(objects), metav1.ListOptions{LabelSelector: selector})
		return f
	})
}

// objectsOf returns the client for the objects of a kind in a namespace.
func (s *feeds) objectsOf(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapper, err := s.clients.Flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return s.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// trimPod removes the largest fields of a pod that nothing reads.
func trimPod(pod *corev1.Pod) {
	pod.ManagedFields, pod.Spec.Volumes, pod.Spec.Tolerations = nil, nil, nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env, containers[i].VolumeMounts = nil, nil
		}
	}
}
