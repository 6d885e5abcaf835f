package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// model collects the changes of a target, and assembles its snapshot: the object, its pods and children, and the reasons.
type model struct {
	*feeds.Feeds
	target Target
	extent Extent
	// changed receives a value if something has changed since the last observation.
	changed    chan struct{}
	subscribed sets.Set[subscribable]

	// newest is the newest version of the target, or nil if the target does not exist. object is the last
	// observed version. facts describe this version.
	newest  atomic.Pointer[unstructured.Unstructured]
	object  *unstructured.Unstructured
	facts   status.Object
	history history
	// competitors contains the autoscalers and the disruption budgets. It is nil until they are read.
	competitors *status.Snapshot
	// between lists the kinds to search for objects between the target and its pods.
	between []schema.GroupVersionKind

	mu sync.Mutex
	// about contains the UIDs of the target, its pods, and its children.
	about sets.Set[types.UID]

	// patient means that observations wait for events and nodes that can explain why the target is not ready. If
	// patient is false, an observation skips events and nodes that have not been read, and sets partial.
	patient, partial bool
	// confirmed means that a new read has confirmed that the target is ready.
	confirmed bool
	// begun is when the current observation began or last stopped waiting for a feed. The delay after an
	// observation depends on the time since begun, and therefore not on how slow the feeds are.
	begun time.Time
}

func newModel(from *feeds.Feeds, t Target, e Extent) *model {
	return &model{Feeds: from, target: t, extent: e, changed: make(chan struct{}, 1), subscribed: sets.New[subscribable]()}
}

// look returns a snapshot of the target and a report. It reads only the objects that the report needs.
func (m *model) look(ctx context.Context, obj *unstructured.Unstructured) (status.Snapshot, status.Report, error) {
	m.partial = false
	if err := m.read(ctx, obj); err != nil {
		return status.Snapshot{}, status.Report{}, err
	}
	s := status.Snapshot{Object: m.facts, Now: time.Now(), Commands: m.CommandContext()}
	if m.extent.Depth >= Below && !m.target.Kind.IsPod() {
		m.beginTree()
	}
	unread, competitorsErr := m.addCompetitors(ctx, &s) // while the feeds of the tree list their objects
	var err error
	if m.extent.Depth >= Below {
		err = m.addTree(ctx, &s)
	}
	if err := cmp.Or(err, competitorsErr); err != nil {
		return s, status.Report{}, err
	}
	if !m.Once {
		m.history.add(&s)
	}
	r, err := m.withReasons(ctx, &s)
	s.Unread = append(s.Unread, unread...)
	if m.Finder.Unread(m.target.Kind) {
		s.Unread = append(s.Unread, "customresourcedefinitions") // a CRD can declare how to judge its kind, and who reconciles it
	}
	r.Unread = s.Unread
	return s, r, err
}

// read updates the facts if obj is a new version. After a change of the spec, the competitors are read again.
func (m *model) read(ctx context.Context, obj *unstructured.Unstructured) error {
	last := m.object
	if last != nil && last.GetResourceVersion() == obj.GetResourceVersion() {
		return nil
	}
	t := m.target
	t.Object = obj
	facts, err := readObject(ctx, m.Clients, t)
	if err != nil {
		return err
	}
	if last == nil {
		m.begun = time.Now() // do not count the time to read the facts of the kind, which are read only once
	} else if last.GetGeneration() != obj.GetGeneration() {
		m.competitors = nil
	}
	m.object, m.facts = obj, facts
	return nil
}

// subscribable is a feed of any type.
type subscribable interface {
	Subscribe(key any, notify follow.Subscriber)
	Unsubscribe(key any)
	Known() bool
}

// contents waits until a feed has synced or failed, and returns the index and the error of the feed.
func contents[T follow.Object, V any](ctx context.Context, m *model, f *follow.Feed[T, V]) (follow.Index[V], error) {
	if !f.Known() {
		defer func() { m.begun = time.Now() }()
	}
	return f.Index(ctx)
}

// lacks reports whether to skip a feed that has not synced. If so, it sets partial. The feed notifies the model later.
func (m *model) lacks(f subscribable) bool {
	if m.patient || f.Known() {
		return false
	}
	m.partial = true
	return true
}

// subscribe subscribes the model to the changes in a feed that may concern the target.
func (m *model) subscribe(f subscribable) {
	m.subscribed.Insert(f)
	f.Subscribe(m, func(about ...types.UID) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.Shared || len(about) == 0 || slices.ContainsFunc(about, m.about.Has) {
			m.notify()
		}
	})
}

// beginTree starts to read the pods and the kinds that are always searched for children, and returns the feed of pods.
// Other kinds are searched if a controller reference names them.
func (m *model) beginTree() *feeds.Pods {
	switch kind := m.target.Kind; {
	case !kind.Reconciled() && !kind.BuiltIn():
		m.addKinds(podMakers()...)
	case kind.CRD() == kinds.Deployments:
		m.addKinds(replicaSets())
	}
	return m.Pods(m.target.Namespace, m.podSelector())
}

// addTree adds the pods, and the objects between the target and its pods.
func (m *model) addTree(ctx context.Context, s *status.Snapshot) error {
	kind := m.target.Kind
	if kind.IsPod() {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, &pod); err != nil {
			return fmt.Errorf("read pod %s: %w", m.object.GetName(), err)
		}
		s.Pods = []*problem.Pod{problem.NewPod(&pod)}
		return nil
	}
	pods := m.beginTree()
	m.subscribe(pods)
	index, err := contents(ctx, m, pods)
	if err != nil {
		return err
	}
	if index.Polled {
		s.Unread = append(s.Unread, "changes of pods")
	}
	s.Pods = m.ownPods(index, nil)
	if !kind.LabelsPods() {
		err = m.addChildren(ctx, s, index)
	}
	if m.Shared {
		m.noteAbout(*s)
	}
	return err
}

// podSelector returns a selector that matches at least the pods of the target.
func (m *model) podSelector() string {
	switch {
	case m.Shared && m.target.Kind.LabelsPods():
		return apis.LabelOwner
	case m.Shared:
		return "" // all targets share one feed
	}
	return m.target.Kind.PodSelector(m.object)
}

// addChildren adds the objects between the target and its pods, which it finds by their controller references. It
// lists whole kinds, not only owners of pods, because a child, such as a ReplicaSet that is scaled to zero, can have no
// pods. If the target has no pods, addChildren also searches the kinds that create pods.
func (m *model) addChildren(ctx context.Context, s *status.Snapshot, pods follow.Index[*problem.Pod]) error {
	m.addKinds(pods.Kinds.UnsortedList()...)
	var read []follow.Index[status.Child]
	var forbidden []string
	for i := 0; ; i++ {
		if i == len(m.between) {
			s.Children = childrenBelow(m.facts.UID, read)
			s.Pods = m.ownPods(pods, s.Children)
			if len(s.Pods) == 0 {
				m.addKinds(podMakers()...)
			}
		}
		if i == len(m.between) {
			// If the target has pods or children, the forbidden kinds are probably unrelated to it.
			if len(s.Pods)+len(s.Children) == 0 {
				s.Unread = append(s.Unread, forbidden...)
			}
			return nil
		}
		f := m.childrenOf(m.between[i])
		m.subscribe(f)
		index, err := contents(ctx, m, f)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		if err != nil {
			// Continue, because the kind might be unrelated to the target.
			klog.FromContext(ctx).V(1).Info("Ignoring the owners of a kind", "kind", m.between[i], "err", err)
			if mapping, known := m.Mapper.RESTMapping(m.between[i].GroupKind(), m.between[i].Version); known == nil && apierrors.IsForbidden(err) {
				forbidden = append(forbidden, mapping.Resource.Resource)
			}
		}
		m.addKinds(index.Kinds.UnsortedList()...)
		read = append(read, index)
	}
}

// deepest is the maximum number of objects between the target and one of its pods.
const deepest = 8

// childrenBelow returns the objects that an object controls directly or indirectly, each once, even in a cycle.
func childrenBelow(uid types.UID, read []follow.Index[status.Child]) []status.Child {
	var all []status.Child
	depth := map[types.UID]int{uid: 0, "": 0}
	for owners := []types.UID{uid}; len(owners) > 0; owners = owners[1:] {
		for _, index := range read {
			for _, c := range index.Of[owners[0]] {
				if _, seen := depth[c.UID]; !seen && depth[owners[0]] < deepest {
					depth[c.UID] = depth[owners[0]] + 1
					all = append(all, c)
					owners = append(owners, c.UID)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b status.Child) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all
}

// ownPods returns the pods of the target and of its children. It adds pods that the target owned earlier and
// that no longer have a controller. The result is not nil, because nil means that pods were not read.
func (m *model) ownPods(index follow.Index[*problem.Pod], children []status.Child) []*problem.Pod {
	all := append([]*problem.Pod{}, index.Of[m.facts.UID]...)
	for _, c := range children {
		all = append(all, index.Of[c.UID]...)
	}
	for _, pod := range index.Of[""] {
		if m.history.pods[pod.UID] {
			all = append(all, pod)
		}
	}
	slices.SortFunc(all, problem.ComparePods)
	return all
}

// addKinds adds kinds to m.between, except the kind of the target, and starts to read the objects of these kinds.
func (m *model) addKinds(all ...schema.GroupVersionKind) {
	for _, gvk := range all {
		if gvk != m.target.Kind.GroupVersionKind() && !slices.Contains(m.between, gvk) {
			m.between = append(m.between, gvk)
			m.childrenOf(gvk)
		}
	}
}

func (m *model) childrenOf(gvk schema.GroupVersionKind) *feeds.Children {
	return m.Children(gvk, m.target.Namespace, m.childSelector(gvk))
}

// childSelector returns a selector that matches at least the objects of a kind that the target controls, or "" if there
// is none. A Deployment releases ReplicaSets that do not match its selector.
func (m *model) childSelector(gvk schema.GroupVersionKind) string {
	if kind := m.target.Kind; !m.Shared && kind.CRD() == kinds.Deployments && gvk == replicaSets() {
		return kind.PodSelector(m.object)
	}
	return ""
}

// podMakers returns the kinds of the API group apps through which other controllers create pods.
func podMakers() []schema.GroupVersionKind {
	apps := appsv1.SchemeGroupVersion
	return []schema.GroupVersionKind{replicaSets(), apps.WithKind("StatefulSet"), apps.WithKind("DaemonSet"), apps.WithKind("Deployment")}
}

func replicaSets() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("ReplicaSet") }

// noteAbout records the UIDs of the target, its pods, and its children. New UIDs cause another observation.
func (m *model) noteAbout(s status.Snapshot) {
	now := belonging(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.about
	m.about = now
	if !before.IsSuperset(now) {
		m.notify() // changes of these objects were ignored until now
	}
}

func belonging(s status.Snapshot) sets.Set[types.UID] {
	all := sets.New(s.Object.UID)
	for _, pod := range s.Pods {
		all.Insert(pod.UID)
	}
	for _, c := range s.Children {
		all.Insert(c.UID)
	}
	return all
}
