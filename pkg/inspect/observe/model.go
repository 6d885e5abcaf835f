package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// model is what is known of a target and of all that stands below it. It reads
// everything once, and watches keep it up to date.
type model struct {
	*feeds
	target Target
	notify func()

	// object is what was last read from the target's object, and facts what it says.
	object *unstructured.Unstructured
	facts  status.Object

	pods     *podFeed
	selector string // of the pods
	events   *eventFeed
	children map[schema.GroupVersionKind]*objectFeed
	nodes    map[string]*nodeFeed

	mu sync.Mutex
	// about are the UIDs of the object and of what stands below it.
	about sets.Set[types.UID]
	// ownPods and own are the pods and what stands between, as they were when that was noted.
	ownPods status.Pods
	own     []status.Child

	// confirmed says that a fresh read has confirmed that the target is ready.
	confirmed bool

	competitors status.Snapshot

	// patient says that looks wait for all that may tell why the target is not ready.
	// Otherwise they do without what is not known yet, and are then partial.
	patient, partial bool

	// waited is how long this look has waited for what is read once.
	waited time.Duration
}

// newModel makes the model of a target, which tells notify of every change.
func newModel(from *feeds, t Target, notify func()) *model {
	t.Object = nil // it is followed
	return &model{feeds: from, target: t, notify: notify, children: map[schema.GroupVersionKind]*objectFeed{}, nodes: map[string]*nodeFeed{}}
}

// since is how long a look has taken, without that for which it waited. A look at what
// is not there has no model.
func (m *model) since(begun time.Time) time.Duration {
	took := time.Since(begun)
	if m != nil {
		took -= m.waited
		m.waited = 0
	}
	return took
}

// eachOf shows the objects of a feed as each does, and notes how long the model had to
// wait until they were known.
func eachOf[T follow.Object](ctx context.Context, m *model, f *follow.Feed[T], do func(T)) error {
	m.await(ctx, f.Known())
	_, err := f.Each(ctx, do)
	return err
}

// await waits until something is known, and notes how long that took.
func (m *model) await(ctx context.Context, known <-chan struct{}) {
	begun := time.Now()
	select {
	case <-known:
	case <-ctx.Done():
	}
	m.waited += time.Since(begun)
}

// lacks reports whether a look does without the objects of a feed, which are not known yet
// and only tell why something is as it is. When they are, the model is told.
func (m *model) lacks(known <-chan struct{}) bool {
	if m.patient {
		return false
	}
	select {
	case <-known:
		return false
	default:
		m.partial = true
		return true
	}
}

// subscriber is how the model hears of changes. Among the objects of others, a change
// matters if it is about something that the model knows.
func (m *model) subscriber() follow.Subscriber {
	if !m.shared {
		return follow.Subscriber{Notify: m.notify}
	}
	matters := func(all ...types.UID) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.ContainsFunc(all, m.about.Has)
	}
	return follow.Subscriber{Matters: matters, Notify: m.notify}
}

// read takes in the object as it is now. It reports whether that is new: at first, and when
// its spec has changed.
func (m *model) read(ctx context.Context, obj *unstructured.Unstructured) (changed bool, err error) {
	last := m.object
	if last != nil && last.GetResourceVersion() == obj.GetResourceVersion() {
		return false, nil
	}
	t := m.target
	t.Object = obj
	begun := time.Now()
	facts, err := ReadObject(ctx, m.clients, m.dynamic, t)
	if err != nil {
		return false, err
	}
	if last == nil {
		m.waited += time.Since(begun) // what there is to know of the kind is read once
	}
	m.object, m.facts = obj, facts
	return last == nil || last.GetGeneration() != obj.GetGeneration(), nil
}

// look is all that is known of the target, whose object is given, and the report on it.
// What cannot matter is not followed: of an object that is ready, nothing but itself and
// what stands below it.
func (m *model) look(ctx context.Context, obj *unstructured.Unstructured, closely, brief bool, since *history) (status.Report, error) {
	m.partial = false
	changed, err := m.read(ctx, obj)
	if err != nil {
		return status.Report{}, err
	}
	if changed && closely {
		m.competitors = status.Snapshot{}
		if err := readCompetitors(ctx, m.clients, m.facts.Namespace, &m.competitors); err != nil {
			return status.Report{}, err
		}
	}
	e := status.Snapshot{Object: m.facts, Now: time.Now(), Commands: m.clients.CommandContext()}
	// Of a kind of another program, what it says of itself is not enough.
	if kind := m.target.Kind; brief && (kind.Reconciled() || kind.BuiltIn()) && m.facts.Template == "" && status.NewReport(e).Verdict.Settled() {
		since.add(&e)
		return status.NewReport(e), nil
	}
	if err := m.addTree(ctx, &e); err != nil {
		return status.Report{}, err
	}
	e.Autoscalers, e.Budgets, e.Unread = m.competitors.Autoscalers, m.competitors.Budgets, slices.Concat(e.Unread, m.competitors.Unread)
	since.add(&e)
	return m.withReasons(ctx, e)
}

// addTree adds the pods and what stands between them and the object.
func (m *model) addTree(ctx context.Context, e *status.Snapshot) error {
	if m.target.Kind.IsPod() {
		return addItself(m.object, e)
	}
	if selector := m.selectorOf(m.target.Kind, m.object); m.pods == nil || m.selector != selector {
		m.pods, m.selector = m.podsOf(podsKey{m.target.Namespace, selector}), selector
		m.pods.Subscribe(m.subscriber())
		clear(m.children) // which may have been found by the same selector
	}
	m.followKinds(childKinds(m.target.Kind)...)
	m.await(ctx, m.pods.Known())
	pods, polled, err := m.pods.now(ctx)
	if err != nil {
		return err
	}
	if polled {
		e.Unread = append(e.Unread, "changes of pods")
	}
	e.Pods = pods
	if !ownPods(m.target.Kind) {
		err = m.addIntermediate(ctx, e)
	}
	if m.shared {
		m.setAbout(e)
	}
	return err
}

// setAbout notes what the model is about, where not all that it is told is.
func (m *model) setAbout(e *status.Snapshot) {
	pods, children := e.OwnPods(), e.Own()
	sameChild := func(a, b status.Child) bool { return a.UID == b.UID }
	same := m.about != nil && m.ownPods.SameAs(pods) && slices.EqualFunc(m.own, children, sameChild)
	m.ownPods, m.own = pods, children
	if same {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.about
	m.about = sets.New(e.Object.UID)
	for _, pod := range pods {
		m.about.Insert(pod.Pod.UID)
	}
	for _, c := range children {
		m.about.Insert(c.UID)
	}
	if m.shared && !before.IsSuperset(m.about) {
		m.notify() // what changed about those that are new did not matter until now
	}
}

// addIntermediate adds the objects to which the controller references of pods lead,
// up to the target. Where it has no pods, those who should make them are looked for.
func (m *model) addIntermediate(ctx context.Context, e *status.Snapshot) error {
	m.followKinds(e.Pods.OwnerKinds()...)
	for range levels {
		before := len(m.children)
		var err error
		if e.Children, err = m.knownChildren(ctx); err != nil {
			return err
		}
		if !e.HasPods() {
			m.followKinds(podMakers()...)
		}
		if len(m.children) == before {
			return nil
		}
	}
	return nil
}

// knownChildren are the objects between target and pods that are known. Kinds to
// which their references lead are followed from then on.
func (m *model) knownChildren(ctx context.Context) ([]status.Child, error) {
	var all []status.Child
	var owners []*metav1.OwnerReference
	for gvk, f := range m.children {
		err := eachOf(ctx, m, f, func(obj *unstructured.Unstructured) {
			if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
				owners = append(owners, owner)
				all = append(all, facts.Child(obj))
			}
		})
		if err != nil && ctx.Err() == nil {
			// What cannot be read, of a kind that may have nothing to do with the
			// target, is left out.
			klog.FromContext(ctx).V(1).Info("Ignoring the owners of a kind", "kind", gvk, "err", err)
		}
	}
	for _, owner := range owners {
		m.followKinds(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	}
	slices.SortFunc(all, func(a, b status.Child) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return all, context.Cause(ctx)
}

// followKinds follows the objects of some kinds in the namespace: all of them, because one
// that has no pods yet, or cannot make any, is found by nothing but its own reference.
func (m *model) followKinds(all ...schema.GroupVersionKind) {
	for _, gvk := range all {
		if m.children[gvk] != nil || gvk == m.target.Kind.GroupVersionKind() {
			continue
		}
		selector := ""
		if !m.shared {
			selector = childSelector(m.target.Kind, m.object, gvk)
		}
		m.children[gvk] = m.ofKind(objectsKey{gvk, m.target.Namespace, selector})
		m.children[gvk].Subscribe(m.subscriber())
	}
}

// withReasons is the report with what may tell why an object is not ready. Of one that
// is ready, events tell whether probes have containers ended, which takes as long as
// their grace period: it is not called ready before they are known.
func (m *model) withReasons(ctx context.Context, e status.Snapshot) (status.Report, error) {
	r := status.NewReport(e)
	var err error
	unread := len(e.Unread)
	switch {
	case !r.Verdict.Settled():
		err = m.addReasons(ctx, &e, r)
	case e.Probed():
		err = m.addEvents(ctx, &e)
	default:
		return r, nil
	}
	if len(e.Events)+len(e.Nodes)+len(e.Unread)-unread == 0 && e.Loops == nil {
		return r, err // a report on very many pods takes a while
	}
	return status.NewReport(e), err
}

// addReasons adds events, the nodes of the pods, and whether somebody reconciles the
// target, to what a report was made from.
func (m *model) addReasons(ctx context.Context, e *status.Snapshot, r status.Report) error {
	err := m.addExplanations(ctx, e, r)
	if !m.patient && follow.Transient(err) {
		m.partial, err = true, nil // the feed tries again
	}
	if err != nil || e.Object.Foreign {
		return err
	}
	return m.addLoops(ctx, e)
}

// addExplanations adds events, and when they are known, the nodes of the pods that they do
// not explain.
func (m *model) addExplanations(ctx context.Context, e *status.Snapshot, r status.Report) error {
	if m.lacks(m.eventsFeed().Known()) {
		return nil
	}
	if err := m.addEvents(ctx, e); err != nil {
		return err
	}
	if len(e.Events) > 0 {
		r = status.NewReport(*e)
	}
	return m.addNodes(ctx, e, r.Pods)
}

// addNodes adds the nodes of pods that do not say why they are not ready. Each is
// followed by its name: all nodes of a large cluster are more than a few pods.
func (m *model) addNodes(ctx context.Context, e *status.Snapshot, pods []status.Pod) error {
	names := unexplainedNodes(pods)
	e.Nodes = make(map[string]*corev1.Node, len(names))
	for _, name := range names {
		if m.nodes[name] == nil {
			m.nodes[name] = m.node(name)
			m.nodes[name].Subscribe(follow.Subscriber{Notify: m.notify})
		}
		if m.lacks(m.nodes[name].Known()) {
			continue
		}
		e.Nodes[name] = nil // there is no such node
		if err := eachOf(ctx, m, m.nodes[name], func(node *corev1.Node) { e.Nodes[name] = node }); err != nil {
			delete(e.Nodes, name)
			return unlessForbidden("nodes", e, err)
		}
	}
	return nil
}

// addLoops adds the run-controllers that may cover the target. It does not subscribe to
// their leases, because what a renewal changes is the time of the last one.
func (m *model) addLoops(ctx context.Context, e *status.Snapshot) error {
	loops := []leaserecord.Loop{}
	for _, namespace := range loopNamespaces(e.Object.Namespace) {
		var bad error
		err := eachOf(ctx, m, m.loopsOf(namespace), func(obj *unstructured.Unstructured) {
			var lease coordinationv1.Lease
			bad = cmp.Or(bad, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &lease))
			loops = append(loops, process.LoopOf(&lease))
		})
		if err := cmp.Or(err, bad); err != nil {
			return unlessForbidden("leases in "+namespace, e, err)
		}
	}
	slices.SortFunc(loops, func(a, b leaserecord.Loop) int { return strings.Compare(a.Holder, b.Holder) })
	e.Loops = loops
	return nil
}

// eventsFeed follows the events of the namespace.
func (m *model) eventsFeed() *eventFeed {
	if m.events == nil {
		m.events = m.eventsOf(m.target.Namespace)
		m.events.Subscribe(m.subscriber())
	}
	return m.events
}

// addEvents adds the events of the namespace that are about the target or something
// below it.
func (m *model) addEvents(ctx context.Context, e *status.Snapshot) error {
	if !m.shared {
		m.setAbout(e) // the feed has the events of others, too
	}
	err := eachOf(ctx, m, m.eventsFeed(), func(event *corev1.Event) {
		if m.about.Has(event.InvolvedObject.UID) {
			e.Events = append(e.Events, *event)
		}
	})
	return unlessForbidden("events", e, err)
}
