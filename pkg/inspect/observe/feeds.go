package observe

import (
	"context"
	"os"
	"runtime/debug"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// feeds are what the models of several targets share: for each type in a namespace
// there is one list and one watch.
type feeds struct {
	clients *kube.Factory
	dynamic dynamic.Interface
	core    corev1client.CoreV1Interface
	// shared says that there may be several targets in a namespace.
	shared bool
	// run has a feed follow what is selected of a source until the context of the feeds ends.
	run func(f runner, from follow.Source, selected metav1.ListOptions)

	mu      sync.Mutex
	pods    map[podsKey]*podFeed
	events  map[string]*eventFeed
	nodes   map[string]*nodeFeed
	leases  map[string]*objectFeed
	objects map[objectsKey]*objectFeed
}

type (
	eventFeed  = follow.Feed[*corev1.Event]
	nodeFeed   = follow.Feed[*corev1.Node]
	objectFeed = follow.Feed[*unstructured.Unstructured]
)

// runner is a feed of any type.
type runner interface {
	Run(ctx context.Context, from follow.Source, selected metav1.ListOptions, connection *follow.Connection)
}

type podsKey struct{ namespace, selector string }

type objectsKey struct {
	schema.GroupVersionKind
	namespace, selector string
}

// saveMemory has garbage collected when the heap has grown by half, instead of to twice its
// size. To follow 10,000 pods then takes a fifth less memory, and a sixth more CPU time.
// Whoever has set GOGC knows better.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// newFeeds makes feeds that end with the context, and are counted among what runs.
func newFeeds(ctx context.Context, c *kube.Factory, connection *follow.Connection, running *sync.WaitGroup, shared bool) (*feeds, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	saveMemory()
	return &feeds{
		clients: c, dynamic: client, core: core, shared: shared,
		run: func(f runner, from follow.Source, selected metav1.ListOptions) {
			running.Go(func() { f.Run(ctx, from, selected, connection) })
		},
		pods: map[podsKey]*podFeed{}, events: map[string]*eventFeed{}, nodes: map[string]*nodeFeed{},
		leases: map[string]*objectFeed{}, objects: map[objectsKey]*objectFeed{},
	}, nil
}

// selectorOf selects the pods among which those of an object are. Several objects share
// the pods that they may have.
func (s *feeds) selectorOf(kind kinds.Kind, obj *unstructured.Unstructured) string {
	switch {
	case s.shared && ownPods(kind):
		return apis.LabelOwner
	case s.shared:
		return ""
	}
	return podSelector(kind, obj)
}

// feedOf is the feed of a key, which is made where there is none yet.
func feedOf[K comparable, F any](s *feeds, all map[K]F, key K, begin func() F) F {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, found := all[key]
	if !found {
		f = begin()
		all[key] = f
	}
	return f
}

// podsOf follows the pods that a selector selects.
func (s *feeds) podsOf(key podsKey) *podFeed {
	return feedOf(s, s.pods, key, func() *podFeed {
		f := newPodFeed()
		s.run(f, follow.SourceOf(s.core.Pods(key.namespace)), metav1.ListOptions{LabelSelector: key.selector})
		return f
	})
}

// eventsOf follows the events of a namespace. Those of steps that went well are left out:
// they are most of all events, and tell of no problem.
func (s *feeds) eventsOf(namespace string) *eventFeed {
	return feedOf(s, s.events, namespace, func() *eventFeed {
		f := follow.New(func(event *corev1.Event) { event.ManagedFields = nil })
		s.run(f, follow.SourceOf(s.core.Events(namespace)), metav1.ListOptions{FieldSelector: unlessRoutine()})
		return f
	})
}

// unlessRoutine selects the events that are not of a step that went well.
func unlessRoutine() string {
	var all []fields.Selector
	for _, reason := range problem.RoutineReasons() {
		all = append(all, fields.OneTermNotEqualSelector("reason", reason))
	}
	return fields.AndSelectors(all...).String()
}

// node follows a node.
func (s *feeds) node(name string) *nodeFeed {
	return feedOf(s, s.nodes, name, func() *nodeFeed {
		f := follow.New(func(node *corev1.Node) { node.ManagedFields, node.Status.Images = nil, nil })
		s.run(f, nodeSource(s.core.Nodes(), name), follow.ByName(name))
		return f
	})
}

// loopsOf follows the leases of the run-controllers of a namespace.
func (s *feeds) loopsOf(namespace string) *objectFeed {
	return feedOf(s, s.leases, namespace, func() *objectFeed {
		f := follow.New(func(*unstructured.Unstructured) {})
		leases := s.dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace)
		s.run(f, follow.SourceOf(leases), metav1.ListOptions{LabelSelector: apis.LabelController + "=" + apis.RunController})
		return f
	})
}

// ofKind follows the objects of a kind in a namespace that a selector selects.
func (s *feeds) ofKind(key objectsKey) *objectFeed {
	return feedOf(s, s.objects, key, func() *objectFeed {
		f := follow.New(trimChild)
		objects, err := objectsOf(s.clients, s.dynamic, key.GroupVersionKind, key.namespace)
		if err != nil {
			f.Refuse(err)
			return f
		}
		s.run(f, follow.SourceOf(objects), metav1.ListOptions{LabelSelector: key.selector})
		return f
	})
}

// nodeSource lists and watches one node. Users who may get nodes but not list them get it
// again and again: the version of what was got may be too old for a watch to begin with. A
// node that is gone has no version, so the list has one that no watch uses.
func nodeSource(nodes corev1client.NodeInterface, name string) follow.Source {
	var refused error
	unwatched := metav1.ListMeta{ResourceVersion: "1"}
	return follow.Source{
		List: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			if refused == nil {
				list, err := nodes.List(ctx, opts)
				if !apierrors.IsForbidden(err) {
					return list, err
				}
				refused = err
			}
			node, err := nodes.Get(ctx, name, metav1.GetOptions{})
			switch {
			case err == nil:
				return &corev1.NodeList{ListMeta: unwatched, Items: []corev1.Node{*node}}, nil
			case apierrors.IsNotFound(err):
				return &corev1.NodeList{ListMeta: unwatched}, nil
			}
			return nil, err
		},
		Watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if refused != nil {
				return nil, refused
			}
			return nodes.Watch(ctx, opts)
		},
	}
}

// trimPod drops what makes pods large, and neither verdicts nor logs ask for.
func trimPod(pod *corev1.Pod) {
	main, named := pod.Annotations[apis.AnnotationDefaultContainer]
	pod.ManagedFields, pod.Annotations = nil, nil
	if named {
		pod.Annotations = map[string]string{apis.AnnotationDefaultContainer: main}
	}
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates,
		InitContainers: trimContainers(pod.Spec.InitContainers), Containers: trimContainers(pod.Spec.Containers),
	}
	pod.Status.HostIP, pod.Status.HostIPs, pod.Status.PodIP, pod.Status.PodIPs = "", nil, "", nil
	for _, containers := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			c := &containers[i]
			c.ImageID, c.AllocatedResources, c.Resources, c.VolumeMounts, c.User = "", nil, nil, nil, nil
		}
	}
}

func trimContainers(all []corev1.Container) []corev1.Container {
	for i, c := range all {
		all[i] = corev1.Container{Name: c.Name, Image: c.Image, LivenessProbe: c.LivenessProbe, RestartPolicy: c.RestartPolicy}
	}
	return all
}

// trimChild drops the pod template and more of a child, of which only the counts,
// the conditions and who wrote what matter.
func trimChild(obj *unstructured.Unstructured) {
	unstructured.RemoveNestedField(obj.Object, "spec", "template")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
}
