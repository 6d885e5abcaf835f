package observe

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// podOf is a pod of a ReplicaSet.
func podOf(t testing.TB, set string, number int, ready bool) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-%[2]d, namespace: ns, uid: %[1]s-%[2]d, labels: {app: web},
		creationTimestamp: "1999-12-31T23:00:00Z", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s, uid: %[1]s, controller: true}]},
		spec: {nodeName: node-1, containers: [{name: main, image: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "%[3]s", lastTransitionTime: "1999-12-31T23:00:00Z"}]}}`,
		set, number, map[bool]string{true: "True", false: "False"}[ready]))
}

// replicaSet is one of the Deployment web.
func replicaSet(t testing.TB, name string, desired, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %[1]s, namespace: ns, uid: %[1]s, generation: 1, labels: {app: web},
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]},
		spec: {replicas: %[2]d}, status: {observedGeneration: 1, replicas: %[2]d, readyReplicas: %[3]d, availableReplicas: %[3]d}}`, name, desired, ready))
}

// deployment is the Deployment web.
func deployment(t testing.TB, desired, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, uid: web, generation: 1},
		spec: {replicas: %[1]d, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}},
		status: {observedGeneration: 1, replicas: %[1]d, updatedReplicas: %[1]d, readyReplicas: %[2]d, availableReplicas: %[2]d}}`, desired, ready))
}

// web is the Deployment as a target.
func web() Target { return Target{Kind: deployments(), Namespace: "ns", Name: "web"} }

// serveWeb puts the Deployment with two pods, of which so many are ready, on a server.
func serveWeb(t *testing.T, ready int) *apiServer {
	t.Helper()
	s := newAPIServer()
	s.do(func() {
		s.put("nodes", parse(t, "{apiVersion: v1, kind: Node, metadata: {name: node-1}}"))
		s.put("deployments", deployment(t, 2, ready))
		s.put("replicasets", replicaSet(t, "web-1", 2, ready))
		for i := range 2 {
			s.put("pods", podOf(t, "web-1", i, i < ready))
		}
	})
	return s
}

// wait begins to wait until the Deployment is ready. The time is that of the end; zero,
// it goes on.
func (s *apiServer) wait(t *testing.T) (ended *time.Time) {
	t.Helper()
	a := &Waiter{Clients: s.factory(t), Limits: Limits{Timeout: time.Hour}}
	ended = &time.Time{}
	go func() {
		for _, err := range a.Wait(t.Context(), []WaitTarget{{Target: web(), Conditions: []Condition{Ready()}}}) {
			if err != nil {
				t.Error(err)
			}
		}
		*ended = time.Now()
	}()
	pass(time.Second) // whatever it reads once has been read
	return ended
}

// A wait ends soon after the last change that it depends on, however long requests
// took that are over.
func TestWaitEndsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.latency = 50 * time.Millisecond
		ended := s.wait(t)
		s.do(func() { s.put("pods", podOf(t, "web-1", 1, true)) })
		pass(time.Millisecond)
		s.do(func() { s.put("replicasets", replicaSet(t, "web-1", 2, 2)) })
		pass(time.Millisecond)
		s.do(func() { s.put("deployments", deployment(t, 2, 2)) })
		changed := time.Now()
		pass(time.Minute)
		// At the end, object, pods, and ReplicaSets are read again.
		if took := ended.Sub(changed); took < 0 || took > leastRest+3*s.latency {
			t.Errorf("the wait ended %s after the last change", took)
		}
		if n := s.requests["list pods"]; n != 2 {
			t.Errorf("%d lists of pods", n)
		}
	})
}

// Watches of different types may be behind each other. A wait does not end where they
// agree, and the server knows better.
func TestWaitDoesNotEndByWhatIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		ended := s.wait(t)
		s.do(func() { s.put("pods", podOf(t, "web-1", 1, true)); s.put("replicasets", replicaSet(t, "web-1", 2, 2)) })
		pass(time.Second)
		s.do(func() { s.stalled["replicasets"] = true })
		s.do(func() {
			s.put("replicasets", replicaSet(t, "web-1", 2, 1))
			s.put("deployments", deployment(t, 2, 2)) // which has not seen that yet
		})
		pass(time.Minute)
		if !ended.IsZero() {
			t.Fatal("it ended with a pod that is not ready")
		}
		s.do(func() { s.put("replicasets", replicaSet(t, "web-1", 2, 2)); s.stalled["replicasets"] = false })
		pass(time.Second)
		if ended.IsZero() {
			t.Error("it does not end")
		}
	})
}

// One object is followed by its own pods, and by no events of pods that start as they
// should, whatever else is in the namespace.
func TestOthersAreNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := serveWeb(t, 1)
		s.do(func() {
			for i := range 100 {
				other := podOf(t, "other", i, true)
				other.SetLabels(map[string]string{"app": "other"})
				s.put("pods", other)
				s.put("events", parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: other-%[1]d, namespace: ns, uid: event-%[1]d}, type: Normal, reason: Scheduled,
					involvedObject: {kind: Pod, name: other-%[1]d, namespace: ns, uid: other-%[1]d}}`, i)))
			}
		})
		f := &followers{shown: map[string]string{}}
		var running sync.WaitGroup
		if err := f.followFleet(ctx, s.factory(t), &running, "fleet of one", false, func(error) {}); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		s.mu.Lock()
		if s.listed["pods"] != 2 || s.listed["events"] != 0 {
			t.Errorf("it has read %v", s.listed)
		}
		s.mu.Unlock()
		stop()
		running.Wait()
	})
}

// An object that selects other pods than before is followed by those.
func TestSelectorThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := serveWeb(t, 1)
		c := s.factory(t)
		f := &followers{shown: map[string]string{}}
		var running sync.WaitGroup
		if err := f.follow(ctx, c, &running); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		labels := map[string]string{"app": "web2"}
		s.do(func() {
			obj := deployment(t, 2, 1)
			obj.SetGeneration(2)
			for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
				if err := unstructured.SetNestedStringMap(obj.Object, labels, path...); err != nil {
					t.Error(err)
				}
			}
			for _, obj := range append(s.all("pods"), s.all("replicasets")...) {
				obj = obj.DeepCopy()
				obj.SetLabels(labels)
				s.put(map[string]string{"Pod": "pods", "ReplicaSet": "replicasets"}[obj.GetKind()], obj)
			}
			s.put("deployments", obj)
		})
		pass(time.Second)
		e, _, err := Read(ctx, c, web())
		f.mu.Lock()
		if r := status.NewReport(e); err != nil || len(r.Pods) != 2 || f.shown["pods"] != podsOf(r) || f.shown["fleet of one"] != inShort(r) {
			t.Errorf("it shows %v and a read says %s%s%v", f.shown, podsOf(r), inShort(r), err)
		}
		f.mu.Unlock()
		stop()
		running.Wait()
	})
}

// BenchmarkChangeOfOnePod is what a change of one pod of a Deployment costs, from the
// event to the verdict.
func BenchmarkChangeOfOnePod(b *testing.B) {
	for _, pods := range []int{100, 10_000} {
		b.Run(strconv.Itoa(pods), func(b *testing.B) {
			var running sync.WaitGroup
			defer running.Wait()
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			s := newAPIServer()
			s.put("deployments", deployment(b, pods, pods))
			s.put("replicasets", replicaSet(b, "web-1", pods, pods))
			for i := range pods {
				s.put("pods", podOf(b, "web-1", i, true))
			}
			from, err := newFeeds(ctx, s.factory(b), nil, &running, false)
			if err != nil {
				b.Fatal(err)
			}
			m := newModel(from, web(), func() {})
			var since history
			look := func() {
				r, err := m.look(ctx, s.objects["deployments"]["ns/web"], true, false, &since)
				if err != nil || r.Verdict != status.Ready || len(r.Pods) != pods {
					b.Fatal(r.Verdict, r.Reason, err)
				}
			}
			look()
			var changed corev1.Pod
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(podOf(b, "web-1", 1, true).Object, &changed); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.pods.Change(changed.DeepCopy(), false); err != nil {
					b.Fatal(err)
				}
				look()
			}
		})
	}
}
