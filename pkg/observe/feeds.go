package observe

import (
	"context"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
)

// feeds are what the models of several targets share: for each type in a namespace
// there is one list and one watch.
type feeds struct {
	clients    *clients.Factory
	dynamic    dynamic.Interface
	core       corev1client.CoreV1Interface
	connection *Connection
	// shared says that there may be several targets in a namespace.
	shared bool
	// follow runs what follows objects until the context of the feeds ends.
	follow func(func(context.Context))

	mu      sync.Mutex
	pods    map[podsKey]*feed[*corev1.Pod]
	events  map[string]*feed[*corev1.Event]
	nodes   map[string]*feed[*corev1.Node]
	objects map[objectsKey]*feed[*unstructured.Unstructured]
}

type podsKey struct{ namespace, selector string }

type objectsKey struct {
	schema.GroupVersionKind
	namespace, selector string
}

// newFeeds makes feeds that end with the context, and are counted among what runs.
func newFeeds(ctx context.Context, c *clients.Factory, connection *Connection, running *sync.WaitGroup, shared bool) (*feeds, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	core, err := c.Core()
	if err != nil {
		return nil, err
	}
	return &feeds{
		clients: c, dynamic: client, core: core, connection: connection, shared: shared,
		follow: func(run func(context.Context)) { running.Go(func() { run(ctx) }) },
		pods:   map[podsKey]*feed[*corev1.Pod]{}, events: map[string]*feed[*corev1.Event]{},
		nodes: map[string]*feed[*corev1.Node]{}, objects: map[objectsKey]*feed[*unstructured.Unstructured]{},
	}, nil
}

// podsOf follows the pods among which those of an object are, and subscribes to them.
func (s *feeds) podsOf(t Target, obj *unstructured.Unstructured, by subscriber) *feed[*corev1.Pod] {
	selector := podSelector(t.Kind, obj)
	switch {
	case s.shared && ownPods(t.Kind):
		selector = apis.LabelOwner
	case s.shared:
		selector = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := podsKey{t.Namespace, selector}
	f := s.pods[key]
	if f == nil {
		f = newFeed(trimPod)
		s.pods[key] = f
		s.follow(func(ctx context.Context) {
			f.run(ctx, podSource(s.core.Pods(t.Namespace)), metav1.ListOptions{LabelSelector: selector}, s.connection)
		})
	}
	f.subscribe(by)
	return f
}

// eventsOf follows the events of a namespace, and subscribes to them.
func (s *feeds) eventsOf(namespace string, by subscriber) *feed[*corev1.Event] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.events[namespace]
	if f == nil {
		f = newFeed(func(event *corev1.Event) { event.ManagedFields = nil })
		s.events[namespace] = f
		s.follow(func(ctx context.Context) {
			f.run(ctx, eventSource(s.core.Events(namespace)), metav1.ListOptions{}, s.connection)
		})
	}
	f.subscribe(by)
	return f
}

// node follows a node, and subscribes to it.
func (s *feeds) node(name string, by subscriber) *feed[*corev1.Node] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.nodes[name]
	if f == nil {
		f = newFeed(func(node *corev1.Node) { node.ManagedFields, node.Status.Images = nil, nil })
		s.nodes[name] = f
		s.follow(func(ctx context.Context) { f.run(ctx, nodeSource(s.core.Nodes(), name), ByName(name), s.connection) })
	}
	f.subscribe(by)
	return f
}

// loopsOf follows the leases of the run-controllers of a namespace. Nobody is told of
// their changes, because what a renewal changes is the time of the last one.
func (s *feeds) loopsOf(namespace string) *feed[*unstructured.Unstructured] {
	s.mu.Lock()
	defer s.mu.Unlock()
	leases := coordinationv1.SchemeGroupVersion
	key := objectsKey{leases.WithKind("Lease"), namespace, apis.LabelController + "=" + apis.RunController}
	return s.objectFeed(key, func(*unstructured.Unstructured) {}, func() (dynamic.ResourceInterface, error) {
		return s.dynamic.Resource(leases.WithResource("leases")).Namespace(namespace), nil
	})
}

// ofKind follows the objects of a kind in a namespace that a selector selects, and
// subscribes to them.
func (s *feeds) ofKind(gvk schema.GroupVersionKind, namespace, selector string, by subscriber) *feed[*unstructured.Unstructured] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.objectFeed(objectsKey{gvk, namespace, selector}, trimChild, func() (dynamic.ResourceInterface, error) {
		return objectsOf(s.clients, s.dynamic, gvk, namespace)
	})
	f.subscribe(by)
	return f
}

// objectFeed follows objects whose client is given.
func (s *feeds) objectFeed(key objectsKey, trim func(*unstructured.Unstructured), client func() (dynamic.ResourceInterface, error)) *feed[*unstructured.Unstructured] {
	f := s.objects[key]
	if f != nil {
		return f
	}
	f = newFeed(trim)
	s.objects[key] = f
	if objects, err := client(); err != nil {
		f.refuse(err)
	} else {
		s.follow(func(ctx context.Context) {
			f.run(ctx, dynamicSource(objects), metav1.ListOptions{LabelSelector: key.selector}, s.connection)
		})
	}
	return f
}

// nodeSource lists and watches one node. Who may get nodes and not list them, gets it:
// the version of what was got may be too old for a watch to begin with.
func nodeSource(nodes corev1client.NodeInterface, name string) source {
	var refused error
	return source{
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
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
				return &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: node.ResourceVersion}, Items: []corev1.Node{*node}}, nil
			case apierrors.IsNotFound(err):
				return &corev1.NodeList{}, nil
			}
			return nil, err
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if refused != nil {
				return nil, refused
			}
			return nodes.Watch(ctx, opts)
		},
	}
}

func podSource(pods corev1client.PodInterface) source {
	return source{
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, opts)
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, opts)
		},
	}
}

func eventSource(events corev1client.EventInterface) source {
	return source{
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return events.List(ctx, opts)
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return events.Watch(ctx, opts)
		},
	}
}

// trimPod drops what makes pods large, and neither verdicts nor logs ask for.
func trimPod(pod *corev1.Pod) {
	main, named := pod.Annotations[apis.AnnotationDefaultContainer]
	pod.ManagedFields, pod.Annotations, pod.Spec.Volumes = nil, nil, nil
	if named {
		pod.Annotations = map[string]string{apis.AnnotationDefaultContainer: main}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env, containers[i].EnvFrom, containers[i].VolumeMounts = nil, nil, nil
		}
	}
}

// trimChild drops the pod template and more of a child, of which only the counts,
// the conditions and who wrote what matter.
func trimChild(obj *unstructured.Unstructured) {
	unstructured.RemoveNestedField(obj.Object, "spec", "template")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
}
