package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func podOf(t testing.TB, set string, number int, ready bool) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-%[2]d, namespace: ns, uid: %[1]s-%[2]d, labels: {app: web},
		creationTimestamp: "1999-12-31T23:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: %[1]s, controller: true}]},
		spec: {nodeName: node-1, containers: [{name: main, image: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "%[3]s", lastTransitionTime: "1999-12-31T23:00:00Z"}]}}`,
		set, number, map[bool]string{true: "True", false: "False"}[ready]))
}

func replicaSet(t testing.TB, name string, desired, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %[1]s, namespace: ns, uid: %[1]s, generation: 1, labels: {app: web},
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]},
		spec: {replicas: %[2]d}, status: {observedGeneration: 1, replicas: %[2]d, readyReplicas: %[3]d, availableReplicas: %[3]d}}`, name, desired, ready))
}

// deployment returns the Deployment web with a current observed generation.
func deployment(t testing.TB, desired, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, uid: web, generation: 1},
		spec: {replicas: %[1]d, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}},
		status: {observedGeneration: 99, replicas: %[1]d, updatedReplicas: %[1]d, readyReplicas: %[2]d, availableReplicas: %[2]d}}`, desired, ready))
}

func web() Target { return Target{Kind: deployments(), Namespace: "ns", Name: "web"} }

// serveWeb returns a server with the Deployment and two pods. ready is the number of ready pods.
func serveWeb(t *testing.T, ready int) *server {
	t.Helper()
	s := newServer(t)
	s.put(parse(t, "{apiVersion: v1, kind: Node, metadata: {name: node-1}}"))
	s.put(deployment(t, 2, ready))
	s.put(replicaSet(t, "web-1", 2, ready))
	for i := range 2 {
		s.put(podOf(t, "web-1", i, i < ready))
	}
	return s
}

// setOf returns a Set with two pods. ready is the number of ready pods. Another program reconciles Sets.
func setOf(t testing.TB, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: example.com/v1, kind: Set, metadata: {name: web, namespace: ns, uid: web, generation: 1},
		spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: %d}}`, ready))
}

func theSet() Target {
	path := fieldpath.Fields("spec", "replicas")
	return Target{Kind: kindOf("example.com/v1", "Set"), Namespace: "ns", Name: "web", Path: &path}
}

// serveSet returns a server with the Set and two pods. ready is the number of ready pods.
func serveSet(t *testing.T, ready int) *server {
	t.Helper()
	s := serveWeb(t, ready)
	s.put(setOf(t, ready))
	s.remove(deployment(t, 2, ready))
	return s
}

// A wait ends soon after the last relevant change, even if earlier requests were slow. For kinds of
// other programs, it reads the object, the pods, and their owners again at the end.
func TestWaitEndsSoon(t *testing.T) {
	t.Parallel()
	const latency = 50 * time.Millisecond
	for what, test := range map[string]struct {
		server func(*testing.T, int) *server
		target Target
		change func(*testing.T, *server)
		within time.Duration
		pods   int // number of list requests for pods
	}{
		"a Deployment": {serveWeb, web(), func(t *testing.T, s *server) { t.Helper(); s.put(deployment(t, 2, 2)) }, leastRest, 1},
		"a Set":        {serveSet, theSet(), func(t *testing.T, s *server) { t.Helper(); s.put(setOf(t, 2)) }, leastRest + 2*latency, 2},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := test.server(t, 1)
			s.delay("* *", latency)
			w := s.waitFor(t, &Waiter{Limits: Limits{Timeout: time.Hour}}, test.target, Ready())
			s.put(podOf(t, "web-1", 1, true))
			pass(time.Millisecond)
			s.put(replicaSet(t, "web-1", 2, 2))
			pass(time.Millisecond)
			test.change(t, s)
			changed := time.Now()
			pass(time.Minute)
			if took := w.at.Sub(changed); took < 0 || took > test.within || w.err != nil {
				t.Errorf("%s: the wait ended %s after the last change, error %v", what, took, w.err)
			}
			if n := s.count("list pods"); n != test.pods {
				t.Errorf("%s: %d list requests for pods", what, n)
			}
		})
	}
}

// One watch can lag behind another. A wait does not end if its target seems ready only because a watch is behind.
func TestWaitDoesNotEndByStaleWatch(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveSet(t, 1)
		w := s.waitFor(t, &Waiter{Limits: Limits{Timeout: time.Hour}}, theSet(), Ready())
		s.put(podOf(t, "web-1", 1, true))
		s.put(replicaSet(t, "web-1", 2, 2))
		pass(time.Second)
		s.Stall("replicasets")
		s.put(replicaSet(t, "web-1", 2, 1))
		s.put(setOf(t, 2)) // the controller of the Set has not seen the last change yet
		pass(time.Minute)
		if w.over() {
			t.Fatalf("the wait ended while a pod is not ready: %v", w.err)
		}
		s.put(replicaSet(t, "web-1", 2, 2))
		s.Stall()
		pass(time.Second)
		if !w.over() || w.err != nil {
			t.Errorf("after the watch caught up: wait ended = %t, error %v", w.over(), w.err)
		}
	})
}

// A follower of a single object reads only the pods that the object selects, and no events of normal pod starts.
func TestFollowerOfOneObjectUsesSelectors(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.follower(t, closely(), false, false).follow(t.Context(), allDeployments())
		if !s.selected("list pods", "app=web") || !s.selected("list events", unlessRoutine()) {
			t.Errorf("requests = %v, want selectors for pods and events", s.Requests(nil))
		}
	})
}

// After the selector of an object changes, the newly selected pods are followed.
func TestSelectorThatChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		pods, one := s.follower(t, Extent{Depth: Below}, false, true), s.follower(t, closely(), false, false)
		pods.follow(t.Context(), web())
		one.follow(t.Context(), allDeployments())
		labels := map[string]string{"app": "web2"}
		obj := deployment(t, 2, 1)
		obj.SetGeneration(2)
		for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
			if err := unstructured.SetNestedStringMap(obj.Object, labels, path...); err != nil {
				t.Error(err)
			}
		}
		for _, obj := range append(s.List("pods", "ns"), s.List("replicasets", "ns")...) {
			obj = obj.DeepCopy()
			obj.SetLabels(labels)
			s.put(obj)
		}
		s.put(obj)
		pass(time.Second)
		snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
		synctest.Wait()
		r := status.NewReport(snapshot)
		shown, want := podsOf(pods.last())+inShort(one.last()), podsOf(r)+inShort(r)
		if err != nil || len(r.Pods) != 2 || shown != want {
			t.Errorf("followers show %s, a read gives %s, error %v", shown, want, err)
		}
	})
}

// The UID identifies a target. Another object with the same name is not the target.
func TestWatchObject(t *testing.T) {
	t.Parallel()
	named := func(uid string) *unstructured.Unstructured {
		obj := deployment(t, 2, 2)
		obj.SetUID(types.UID(uid))
		return obj
	}
	for what, test := range map[string]struct {
		target  WaitTarget
		changes []*unstructured.Unstructured // nil removes the object
		want    []string
	}{
		"by name":           {WaitTarget{}, []*unstructured.Unstructured{named("web"), nil}, []string{"web", "web", "none"}},
		"by name, replaced": {WaitTarget{}, []*unstructured.Unstructured{named("a")}, []string{"web", "none"}},
		"by UID, replaced":  {WaitTarget{UID: "web"}, []*unstructured.Unstructured{named("web"), named("a"), named("web")}, []string{"web", "web", "none", "web"}},
		"by another UID":    {WaitTarget{UID: "a"}, []*unstructured.Unstructured{named("a")}, []string{"none", "a"}},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			test.target.Target = web()
			ctx, stop := context.WithCancel(t.Context())
			m := newModel(feeds.New(ctx, s.clients(), nil, false), test.target.Target, Extent{})
			w := begin(func() error { return m.watchObject(ctx, test.target.UID) })
			var seen []string
			see := func() {
				word := ""
				select {
				case <-m.changed:
					if word = "none"; m.newest.Load() != nil {
						word = string(m.newest.Load().GetUID())
					}
				default:
				}
				seen = append(seen, word)
			}
			see()
			for _, obj := range test.changes {
				if obj == nil {
					s.remove(s.List("deployments", "ns")[0])
				} else {
					s.put(obj)
				}
				synctest.Wait()
				see()
			}
			stop()
			if !w.over() || !slices.Equal(seen, test.want) {
				t.Errorf("%s: UIDs seen = %q, want %q", what, seen, test.want)
			}
		})
	}
}

// Several changes before a read are reported once. next returns after a change, after the given
// delay, or with the cause of a canceled context.
func TestNextChange(t *testing.T) {
	t.Parallel()
	obj := deployment(t, 1, 1)
	m := newModel(nil, Target{}, Extent{})
	m.set(obj)
	m.notify()
	if got, err := m.next(t.Context(), nil); got != obj || err != nil {
		t.Errorf("after a change: next = %v, error %v, want the object", got, err)
	}
	again := make(chan time.Time, 1)
	again <- time.Time{}
	if got, err := m.next(t.Context(), again); got != obj || err != nil || len(m.changed) > 0 {
		t.Errorf("after the delay: next = %v, error %v, and %d unread changes, want the object and none", got, err, len(m.changed))
	}
	stopped := errors.New("somebody has stopped it")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	if got, err := m.next(ctx, nil); got != nil || !errors.Is(err, stopped) {
		t.Errorf("canceled context: next = %v, error %v, want nil and the cause", got, err)
	}
}

// causeOf returns the cause of the context if a request failed because the context ended.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	stopped, other := errors.New("somebody has stopped it"), errors.New("it is odd")
	ended, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	for _, test := range []struct {
		ended     bool
		err, want error
	}{
		{true, fmt.Errorf("list: %w", context.Canceled), stopped},
		{true, fmt.Errorf("list: %w", context.DeadlineExceeded), stopped},
		{true, fmt.Errorf("list: %w", stopped), stopped},
		{true, other, other},
		{false, context.Canceled, context.Canceled},
		{false, context.DeadlineExceeded, context.DeadlineExceeded},
		{false, nil, nil},
	} {
		ctx := t.Context()
		if test.ended {
			ctx = ended
		}
		if got := causeOf(ctx, test.err); got != test.want { //nolint:errorlint // the error must be this value
			t.Errorf("causeOf(%v) = %v, want %v", test.err, got, test.want)
		}
	}
}

// The history records actions of the controller until the spec changes or the object is replaced. If
// the count was written just before the wait, every snapshot is Counted.
func TestHistory(t *testing.T) {
	t.Parallel()
	first := time.Unix(1000, 0)
	look := func(uid types.UID, generation int64, ready int32, at int, children ...types.UID) status.Snapshot {
		s := status.Snapshot{Now: first.Add(time.Duration(at) * time.Second), Pods: []*problem.Pod{problem.NewPod(&corev1.Pod{})}, Events: []corev1.Event{{}}}
		s.Object.UID, s.Object.Generation, s.Object.Ready = uid, generation, ready
		for _, child := range children {
			s.Children = append(s.Children, status.Child{UID: child, Controller: uid})
		}
		return s
	}
	h, plain := history{counted: true}, history{}
	for i, test := range []struct {
		look         status.Snapshot
		acted, below bool
		since        int
	}{
		{look("a", 1, 0, 0), false, false, 0},
		{look("a", 1, 0, 1), false, false, 0},
		{look("a", 1, 1, 2), true, false, 0},
		{look("a", 1, 0, 3), true, false, 0}, // the same count as in the first snapshot
		{look("a", 1, 0, 4, "child"), true, true, 0},
		{look("a", 1, 0, 5), true, true, 0},
		{look("a", 2, 0, 6), false, false, 6},
		{look("a", 2, 0, 7, "child"), true, true, 6},
		{look("b", 2, 0, 8), false, false, 8},
		{look("b", 2, 0, 9), false, false, 8},
	} {
		s, uncounted := test.look, test.look
		h.add(&s)
		plain.add(&uncounted)
		if s.Acted != test.acted || s.ActedBelow != test.below || !s.Counted || uncounted.Counted || !s.Since.Equal(first.Add(time.Duration(test.since)*time.Second)) {
			t.Errorf("row %d: Acted = %t, ActedBelow = %t, Counted = %t, Since = %s", i, s.Acted, s.ActedBelow, s.Counted, s.Since)
		}
		if len(s.Pods) != 1 || len(s.Events) != 1 || len(h.first.Pods)+len(h.first.Events) > 0 {
			t.Errorf("row %d: the snapshot lost pods or events, or the history keeps %d pods and %d events", i, len(h.first.Pods), len(h.first.Events))
		}
	}
}

func TestRestAfter(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		0: leastRest, time.Millisecond: leastRest, 5 * time.Millisecond: 20 * time.Millisecond, 100 * time.Millisecond: 400 * time.Millisecond,
		250 * time.Millisecond: time.Second, time.Minute: time.Second,
	} {
		if got := restAfter(took, leastRest); got != want {
			t.Errorf("restAfter(%s) = %s, want %s", took, got, want)
		}
	}
}

// If the first observation fails, the wait ends. Later errors are retried, unless the user has lost a permission.
func TestWaitOutlastsAServerThatFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.fail("list pods")
		w := s.waitFor(t, &Waiter{}, web(), Ready())
		if !w.over() || !apierrors.IsInternalError(w.err) || !strings.HasPrefix(w.err.Error(), "wait for deployment/web to be ready: ") {
			t.Errorf("the first read fails: wait ended = %t, error %v, want InternalError", w.over(), w.err)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveSet(t, 1)
		w := s.waitFor(t, &Waiter{}, theSet(), Ready())
		back := s.fail("list pods") // a wait lists pods again before it ends
		s.readyAll(t)
		s.put(setOf(t, 2))
		pass(10 * time.Second)
		if w.over() {
			t.Fatalf("a later read fails: the wait ended: %v", w.err)
		}
		if n := s.count("list pods"); n < 5 || n > 12 {
			t.Errorf("%d list requests for pods in ten seconds, want 5 to 12", n)
		}
		back()
		if pass(2 * time.Second); !w.over() || w.err != nil {
			t.Errorf("the server works again: wait ended = %t, error %v", w.over(), w.err)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveSet(t, 1)
		w := s.waitFor(t, &Waiter{}, theSet(), Ready())
		s.forbid("list pods")
		s.readyAll(t)
		s.put(setOf(t, 2))
		if pass(time.Second); !w.over() || !apierrors.IsForbidden(w.err) {
			t.Errorf("the user has lost a permission: wait ended = %t, error %v, want Forbidden", w.over(), w.err)
		}
	})
}

// A wait reads the children of its target only if the condition depends on them. If the user is not
// allowed to read pods, a wait for a shipped kind relies on the status.
func TestWaitReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	listed := []string{"list deployments"}
	for what, test := range map[string]struct {
		server    func(*testing.T, int) *server
		target    Target
		condition Condition
		forbidden bool // the user is not allowed to list pods
		want      []string
		pods      int // number of list requests for pods
	}{
		"a Deployment, to be created":                   {serveWeb, web(), Created(), false, listed, 0},
		"a Deployment, to be ready":                     {serveWeb, web(), Ready(), false, nil, 1},
		"a Set, to be ready":                            {serveSet, theSet(), Ready(), false, nil, 2},
		"a Deployment, without FailsFast":               {serveWeb, web(), Condition{Tree: true, Met: Ready().Met}, false, nil, 1},
		"an ImoocPod, to be ready":                      {serveFoo, foo(), Ready(), false, nil, 1},
		"an ImoocPod, without permission to list pods":  {serveFoo, foo(), Ready(), true, nil, 1},
		"a Deployment, without permission to list pods": {serveWeb, web(), Ready(), true, nil, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := test.server(t, 2)
			if test.forbidden {
				s.forbid("list pods")
			}
			var last Observation
			w := s.waitFor(t, &Waiter{Show: func(o Observation) { last = o }}, test.target, test.condition)
			refused := test.forbidden && test.target.Kind.BuiltIn()
			if !w.over() || refused != apierrors.IsForbidden(w.err) || !refused && (w.err != nil || !last.Met || last.Report.Verdict != status.Ready) {
				t.Errorf("%s: wait ended = %t, error %v, last observation %s", what, w.over(), w.err, last.State())
			}
			// The wait might end before it begins to watch.
			sent := slices.DeleteFunc(s.sent(), func(request string) bool { return request == "watch deployments" })
			if test.want != nil && !slices.Equal(sent, test.want) || s.count("list pods") != test.pods {
				t.Errorf("%s: requests = %v, with %d lists of pods", what, sent, s.count("list pods"))
			}
			if test.target.Kind.BuiltIn() && !s.selected("list pods", "app=web") {
				t.Errorf("%s: a list of pods lacks the selector of the Deployment", what)
			}
		})
	}
}

// After a new read has confirmed that the target is ready, the target is not read again while it stays ready.
func TestWaitConfirmsOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveSet(t, 2)
		stop := false
		c := Ready()
		c.Met = func(Observation) (bool, error) { return stop, nil }
		w := s.waitFor(t, &Waiter{}, theSet(), c)
		for _, step := range []struct{ ready, lists int }{{2, 2}, {2, 2}, {1, 2}, {2, 3}, {2, 3}} {
			s.put(replicaSet(t, "web-1", 2, step.ready))
			s.put(setOf(t, step.ready))
			if pass(time.Second); s.count("list pods") != step.lists {
				t.Errorf("%d ready: %d list requests for pods, want %d", step.ready, s.count("list pods"), step.lists)
			}
		}
		stop = true
		s.put(setOf(t, 2))
		if pass(time.Second); !w.over() || w.err != nil {
			t.Errorf("after the condition was met: wait ended = %t, error %v", w.over(), w.err)
		}
	})
}

// A wait until an object is ready ends if the object is deleted, even if it is created again.
func TestWaitForDeletedObject(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*testing.T, *server){
		"deleted": func(t *testing.T, s *server) { t.Helper(); s.remove(imoocPod(t, 2, 1)) },
		"created again": func(t *testing.T, s *server) {
			t.Helper()
			again := imoocPod(t, 1, 1)
			again.SetUID("again")
			s.put(again)
		},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveFoo(t, 1)
			var last Observation
			waiter := &Waiter{Show: func(o Observation) { last = o }, Closely: true}
			w := s.waitFor(t, waiter, foo(), Condition{Tree: true, Met: Ready().Met})
			change(t, s)
			if pass(time.Second); !w.over() || !errors.Is(w.err, outcome.ErrGone) || w.err.Error() != "imoocpod/foo was deleted during the wait" {
				t.Errorf("%s: wait ended = %t, error %v, last observation %s", what, w.over(), w.err, last.State())
			}
		})
	}
}
