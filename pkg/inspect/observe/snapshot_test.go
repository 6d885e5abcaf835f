package observe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// imoocPod returns the ImoocPod foo with a current observed generation.
func imoocPod(t testing.TB, desired, ready int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: %q, kind: ImoocPod, metadata: {name: foo, namespace: ns, uid: foo, generation: 1}, spec: {replicas: %d},
		status: {observedGeneration: 1, replicas: %[2]d, updatedReplicas: %[2]d, readyReplicas: %[3]d}}`, imoocPods().Resource.GroupVersion(), desired, ready))
}

func foo() Target { return Target{Kind: imoocPods(), Namespace: "ns", Name: "foo"} }

func podOfFoo(t testing.TB, number int, ready bool) *unstructured.Unstructured {
	t.Helper()
	pod := podOf(t, "foo", number, ready)
	pod.SetLabels(map[string]string{apis.LabelOwner: "foo"})
	return owned(t, pod, imoocPods().Resource.GroupVersion().String(), "ImoocPod", "foo")
}

// serveFoo returns a server with the ImoocPod and two pods. ready is the number of ready pods.
func serveFoo(t *testing.T, ready int) *server {
	t.Helper()
	s := newServer(t)
	s.CreateCRDs()
	s.put(parse(t, "{apiVersion: v1, kind: Node, metadata: {name: node-1}}"))
	s.put(imoocPod(t, 2, ready))
	for i := range 2 {
		s.put(podOfFoo(t, i, i < ready))
	}
	return s
}

func event(t testing.TB, name, kind, uid, reason, message string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: ns, uid: %[1]s}, type: Warning, reason: %[2]s, message: %[3]q,
		involvedObject: {kind: %[4]s, name: %[5]s, namespace: ns, uid: %[5]s}, lastTimestamp: "2000-01-01T00:00:00Z", count: 3}`, name, reason, message, kind, uid))
}

// lease returns the lease of a run-controller, last renewed at the given time.
func lease(t testing.TB, name, namespace string, now time.Time) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: %s, uid: %[1]s, labels: {%[3]s: %[4]s}},
		spec: {holderIdentity: %[1]s, leaseDurationSeconds: 15, renewTime: %[5]q}}`, name, namespace, apis.LabelController, apis.RunController, now.UTC().Format("2006-01-02T15:04:05.000000Z")))
}

// Read reads events only if the object is not ready or its pods have probes, and nodes only if the object is not ready.
func TestReadReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	tree := []string{"list pods", "list replicasets"}
	with := func(more ...string) []string { return slices.Sorted(slices.Values(slices.Concat(tree, more))) }
	probed := func(s *server) {
		for i := range 2 {
			s.put(probe(t, podOf(t, "web-1", i, true), 0))
		}
	}
	for _, test := range []struct {
		what   string
		ready  int
		change func(*server)
		want   []string
	}{
		{"ready", 2, func(*server) {}, with("get deployments")},
		{"ready, with probes", 2, probed, with("get deployments", "list events")},
		{"not ready", 1, func(*server) {}, with("get deployments", "list events", "list nodes")},
	} {
		s := serveWeb(t, test.ready)
		test.change(s)
		snapshot, read, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
		if err != nil || read.Object.GetName() != "web" || len(snapshot.Pods) != 2 || status.NewReport(snapshot).Verdict.Settled() != (test.ready == 2) {
			t.Errorf("%s: snapshot %+v, error %v", test.what, snapshot, err)
		}
		if got := s.sent(); !slices.Equal(got, test.want) {
			t.Errorf("%s: requests = %v, want %v", test.what, got, test.want)
		}
	}
	s := serveWeb(t, 2)
	target := web()
	target.Object = deployment(t, 2, 2)
	if _, _, err := Read(t.Context(), s.clients(), target, Extent{Depth: Reasons}); err != nil || !slices.Equal(s.sent(), tree) {
		t.Errorf("object already read: requests = %v, error %v", s.sent(), err)
	}
	if _, _, err := Read(t.Context(), newServer(t).clients(), web(), Extent{Depth: Reasons}); !apierrors.IsNotFound(err) {
		t.Errorf("missing object: error = %v, want NotFound", err)
	}
}

// A container that a probe has killed is ready until its grace period is over. If an event reports
// the kill, Read also reads all other possible reasons.
func TestReadSeesContainersKilledByProbes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what    string
		message string
		verdict status.Verdict
		want    int // number of list requests for events
	}{
		{"killed by a probe", "Container main failed liveness probe, will be restarted", status.Progressing, 4},
		{"stopped for another reason", "Stopping container main", status.Ready, 1},
	} {
		s := serveWeb(t, 2)
		s.put(probe(t, podOf(t, "web-1", 0, true), 0))
		s.put(event(t, "kill", "Pod", "web-1-0", "Killing", test.message))
		s.put(event(t, "other", "Pod", "web-1-1", "Unhealthy", "it fails"))
		snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
		if r := status.NewReport(snapshot); err != nil || r.Verdict != test.verdict || s.count("list events") != test.want {
			t.Errorf("%s: verdict %s (%s), %d list requests for events, error %v", test.what, r.Verdict, r.Reason, s.count("list events"), err)
		}
	}
}

// With Details and Competitors, everything is read, even for a ready object.
func TestReadAll(t *testing.T) {
	t.Parallel()
	for _, ready := range []int{1, 2} {
		s := serveFoo(t, ready)
		s.put(parse(t, fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: foo, namespace: ns, uid: hpa},
			spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: %q, kind: ImoocPod, name: foo}}}`, imoocPods().Resource.GroupVersion())))
		s.put(oldBudget(t, "foo", "{matchLabels: {"+apis.LabelOwner+": foo}}"))
		s.put(lease(t, "here", "ns", time.Now()))
		s.put(lease(t, "everywhere", apis.LeaseNamespaceForAll, time.Now()))
		s.put(lease(t, "elsewhere", "other", time.Now()))
		stranger := lease(t, "stranger", "ns", time.Now())
		stranger.SetLabels(nil)
		s.put(stranger)
		s.put(event(t, "first", "ImoocPod", "foo", "Odd", "it is odd"))
		snapshot, _, err := Read(t.Context(), s.clients(), foo(), Extent{Depth: Details, Competitors: true})
		if err != nil || len(snapshot.Autoscalers) != 1 || len(snapshot.Budgets) != 1 || len(snapshot.Events) != 1 || snapshot.Events[0].Reason != "Odd" || len(snapshot.Unread) > 0 {
			t.Errorf("%d ready: incomplete or wrong snapshot %+v, error %v", ready, snapshot, err)
		}
		var holders []string
		for _, loop := range snapshot.Loops {
			holders = append(holders, loop.Holder)
		}
		if !slices.Equal(holders, []string{"everywhere", "here"}) {
			t.Errorf("%d ready: controllers = %v, want [everywhere here]", ready, holders)
		}
		if s.count("list pods") != 1 {
			t.Errorf("%d ready: %d list requests for pods, want 1", ready, s.count("list pods"))
		}
	}
}

// The leases of controllers for all namespaces are in kube-system. For an object in kube-system, the leases in that
// namespace are read only once.
func TestLeasesForAllNamespaces(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]int{"ns": 2, apis.LeaseNamespaceForAll: 1} {
		s := newServer(t)
		s.CreateCRDs()
		s.put(lease(t, "all", apis.LeaseNamespaceForAll, time.Now()))
		obj := imoocPod(t, 2, 1)
		obj.SetNamespace(namespace)
		s.put(obj)
		snapshot, _, err := Read(t.Context(), s.clients(), Target{Kind: imoocPods(), Namespace: namespace, Name: "foo"}, Extent{Depth: Reasons})
		if err != nil || len(snapshot.Loops) != 1 || s.count("list leases") != want {
			t.Errorf("namespace %s: loops %v, %d list requests for leases, error %v", namespace, snapshot.Loops, s.count("list leases"), err)
		}
	}
}

// If the user is not allowed to read a resource other than the object and its pods, Read continues without it, and
// Unread lists it. Other failed requests are errors.
func TestReadWithoutRights(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		request, unread string
	}{
		{"list events", "events"},
		{"list nodes", "nodes"},
		{"list leases", "leases in ns"},
		{"list horizontalpodautoscalers", "horizontalpodautoscalers"},
		{"list poddisruptionbudgets", "poddisruptionbudgets"},
		{"list pods", ""},
		{"get imoocpods", ""},
	} {
		s := serveFoo(t, 1)
		s.forbid(test.request)
		c := s.clients()
		snapshot, _, err := Read(t.Context(), c, foo(), Extent{Depth: Details, Competitors: true})
		if test.unread != "" && (err != nil || !slices.Equal(snapshot.Unread, []string{test.unread})) {
			t.Errorf("%s is forbidden: Unread = %v, error %v", test.request, snapshot.Unread, err)
		}
		if test.unread == "" && !apierrors.IsForbidden(err) {
			t.Errorf("%s is forbidden: error = %v, want Forbidden", test.request, err)
		}
		if test.request == "list leases" && snapshot.Loops != nil {
			t.Errorf("list leases is forbidden: Loops = %v, want nil", snapshot.Loops)
		}
		s.Permit()
		s.fail(test.request)
		if _, _, err := Read(t.Context(), c, foo(), Extent{Depth: Details, Competitors: true}); !apierrors.IsInternalError(err) {
			t.Errorf("%s fails: error = %v, want InternalError", test.request, err)
		}
	}
	s := serveWeb(t, 2)
	s.put(probe(t, podOf(t, "web-1", 0, true), 0))
	s.forbid("list events")
	c := s.clients()
	if snapshot, _, err := Read(t.Context(), c, web(), Extent{Depth: Reasons}); err != nil || !slices.Equal(snapshot.Unread, []string{"events"}) || !status.NewReport(snapshot).Verdict.Settled() {
		t.Errorf("pods with probes, events are forbidden: Unread = %v, error %v, want [events] and a settled verdict", snapshot.Unread, err)
	}
	// With Details, Read requests events several times, but Unread lists them only once.
	if snapshot, _, err := Read(t.Context(), c, web(), Extent{Depth: Details, Competitors: true}); err != nil || !slices.Equal(snapshot.Unread, []string{"events"}) {
		t.Errorf("Details, events are forbidden: Unread = %v, error %v, want [events]", snapshot.Unread, err)
	}
	s.Permit()
	s.fail("list events")
	if _, _, err := Read(t.Context(), c, web(), Extent{Depth: Reasons}); !apierrors.IsInternalError(err) {
		t.Errorf("pods with probes, the list of events fails: error = %v, want InternalError", err)
	}
}

// If there are only a few objects, their events are listed object by object. For more objects, all
// events of the namespace are listed.
func TestReadEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		pods   int // number of pods, none of them ready
		events int // number of events of each pod
		others int
		found  int
		lists  int
	}{
		// The Deployment, its ReplicaSet, and one pod do not exceed fewObjects.
		{"a few objects", 1, 2, 4, 2, 3},
		{"more objects", 2, 2, 6, 4, 1},
	} {
		s := newServer(t)
		s.put(deployment(t, test.pods, 0))
		s.put(replicaSet(t, "web-1", test.pods, 0))
		for i := range test.pods {
			s.put(podOf(t, "web-1", i, false))
			for j := range test.events {
				s.put(event(t, fmt.Sprintf("a-%02d-%d", j, i), "Pod", fmt.Sprintf("web-1-%d", i), "Odd", "it is odd"))
			}
		}
		for j := range test.others {
			s.put(event(t, fmt.Sprintf("b-%d", j), "Pod", "other", "Odd", "it is odd"))
		}
		snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
		if err != nil || len(snapshot.Events) != test.found || s.count("list events") != test.lists {
			t.Errorf("%s: %d events in %d list requests, error %v, want %d in %d", test.what, len(snapshot.Events), s.count("list events"), err, test.found, test.lists)
		}
		s.fail("list events")
		if _, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons}); !apierrors.IsInternalError(err) {
			t.Errorf("%s: the list of events fails: error = %v, want InternalError", test.what, err)
		}
	}
}

// Events of ready pods are left out.
func TestEventsOfPodsThatAreReady(t *testing.T) {
	t.Parallel()
	s := serveWeb(t, 1)
	s.put(event(t, "a", "Pod", "web-1-0", "Odd", "it is ready"))
	s.put(event(t, "b", "Pod", "web-1-1", "Odd", "it is not"))
	s.put(event(t, "c", "ReplicaSet", "web-1", "Odd", "it is between"))
	snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
	if err != nil || len(snapshot.Events) != 2 || snapshot.Events[0].Message != "it is not" || snapshot.Events[1].Message != "it is between" {
		t.Errorf("events = %+v, error %v, want those of the pod that is not ready and of the ReplicaSet", snapshot.Events, err)
	}
}

// Read reads the nodes that can explain why pods are not ready: each node once, and at most nodesLookedAt nodes.
func TestUnexplainedNodes(t *testing.T) {
	t.Parallel()
	var many []problem.Pod
	for i := range nodesLookedAt + 1 {
		many = append(many, problem.Pod{Node: fmt.Sprint("node-", i)})
	}
	for _, test := range []struct {
		what string
		pods []problem.Pod
		want []string
	}{
		{"one pod is ready", []problem.Pod{{Node: "a", Ready: true}, {Node: "b"}}, []string{"b"}},
		{"two pods on one node", []problem.Pod{{Node: "a"}, {Node: "a"}}, []string{"a"}},
		{"a pod without a node", []problem.Pod{{}, {Node: "b"}}, []string{"b"}},
		{"one pod has a known reason", []problem.Pod{{Node: "a"}, {Node: "i", Code: problem.CodeCrashLoop}}, []string{"a"}},
		{"one pod is stuck terminating", []problem.Pod{{Node: "a", Ready: true}, {Node: "b", Code: problem.CodeTerminating}}, []string{"b"}},
		{"too many nodes", many, []string{"node-0", "node-1", "node-2", "node-3", "node-4"}},
	} {
		if got := unexplainedNodes(test.pods); !slices.Equal(got, test.want) {
			t.Errorf("%s: nodes = %v, want %v", test.what, got, test.want)
		}
	}
	s := serveWeb(t, 0)
	s.put(set(t, podOf(t, "web-1", 1, false), "none", "spec", "nodeName"))
	s.put(set(t, broken(t, 2), "explained", "spec", "nodeName"))
	snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Reasons})
	if none, read := snapshot.Nodes["none"]; err != nil || len(snapshot.Nodes) != 2 || snapshot.Nodes["node-1"] == nil || !read || none != nil {
		t.Errorf("nodes = %v, error %v, want node-1, and nil for the missing node", snapshot.Nodes, err)
	}
}

// listAs returns an error if it cannot convert an object.
func TestListAs(t *testing.T) {
	t.Parallel()
	client := serveSet(t, 2).clients().Dynamic
	type odd struct {
		Spec string `json:"spec"`
	}
	if all, err := listAs[odd](t.Context(), client, theSet().Kind.Resource, "ns"); err == nil {
		t.Errorf("a spec that is not a string is converted to %q, want an error", all)
	}
}
