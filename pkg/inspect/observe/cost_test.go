package observe

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// costOfReads returns the allocated bytes and the allocations for one read of each target. It does not
// measure the first read, which lists the objects. complete reports whether a snapshot is complete.
func costOfReads(t *testing.T, s *server, targets []Target, complete func(status.Snapshot) bool) (bytes, allocations uint64) {
	t.Helper()
	reader := NewReader(t.Context(), s.clients(), true)
	defer reader.Stop()
	look := func(at Target) {
		if snapshot, _, err := reader.Read(t.Context(), at, Extent{Depth: Reasons}); err != nil || !complete(snapshot) {
			t.Fatalf("%s: %d pods, %d children, %d events, and %d loops, error %v", at, len(snapshot.Pods), len(snapshot.Children), len(snapshot.Events), len(snapshot.Loops), err)
		}
	}
	look(targets[0])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, at := range targets {
		look(at)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}

// Anyone who can create objects in a namespace can create many, so the allocations for reading all objects
// must grow only linearly with their number.
func TestCostOfManyTargets(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) uint64 {
		s := newServer(t)
		var targets []Target
		for i := range size {
			name, between := fmt.Sprint("web-", i), fmt.Sprint("web-", i, "-rs")
			object := set(t, set(t, deployment(t, 2, 0), name, "metadata", "name"), name, "metadata", "uid")
			s.put(object)
			rs := owned(t, replicaSet(t, between, 2, 0), "apps/v1", "Deployment", name)
			s.put(rs)
			for j := range 2 {
				s.put(podOf(t, between, j, false))
				s.put(event(t, fmt.Sprint(name, "-", j), "Pod", fmt.Sprint(between, "-", j), "Odd", "it is odd"))
			}
			targets = append(targets, Target{Kind: deployments(), Namespace: "ns", Name: name, Object: object})
		}
		bytes, _ := costOfReads(t, s, targets, func(snapshot status.Snapshot) bool {
			return len(snapshot.Pods) == 2 && len(snapshot.Children) == 1 && len(snapshot.Events) == 2
		})
		return bytes
	}
	size := 50
	before := cost(size)
	for range 2 {
		size *= 2
		bytes := cost(size)
		if bytes > 5*before/2 {
			t.Errorf("reading %d objects allocates %d bytes, half as many allocate %d", size, bytes, before)
		}
		before = bytes
	}
}

// In an outage, many objects are not ready. They share one list of the events in their namespace.
func TestManyTargetsShareEvents(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var targets []Target
	for i := range 5 {
		name := fmt.Sprint("web-", i)
		object := set(t, set(t, deployment(t, 2, 0), name, "metadata", "name"), name, "metadata", "uid")
		s.put(object)
		s.put(event(t, name, "Deployment", name, "Odd", "it is odd"))
		targets = append(targets, Target{Kind: deployments(), Namespace: "ns", Name: name, Object: object})
	}
	costOfReads(t, s, targets, func(snapshot status.Snapshot) bool { return len(snapshot.Events) == 1 })
	if n := s.count("list events"); n != 1 {
		t.Errorf("%d lists of events, want 1", n)
	}
}

// Anyone who can create leases in a namespace can create many, so each lease is parsed only once for all objects.
func TestCostOfLeases(t *testing.T) { // not parallel, because it counts allocations
	const objects, leases = 50, 200
	s := newServer(t)
	s.CreateCRDs()
	var targets []Target
	for i := range leases {
		s.put(lease(t, fmt.Sprint("loop-", i), "ns", time.Now()))
	}
	for i := range objects {
		name := fmt.Sprint("foo-", i)
		object := set(t, set(t, imoocPod(t, 2, 0), name, "metadata", "name"), name, "metadata", "uid")
		s.put(object)
		targets = append(targets, Target{Kind: imoocPods(), Namespace: "ns", Name: name, Object: object})
	}
	_, allocations := costOfReads(t, s, targets, func(snapshot status.Snapshot) bool { return len(snapshot.Loops) == leases })
	// A report allocates a few strings for each lease. Parsing the lease would take a hundred allocations.
	if each := allocations / objects / leases; each > 20 {
		t.Errorf("a read allocates %d times for each lease, want at most 20", each)
	}
}

// Anyone who can create autoscalers and disruption budgets in a namespace can create many, so the allocations
// for reading an object must grow only linearly with the number of autoscalers and budgets.
func TestCostOfCompetitors(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) uint64 {
		s := serveWeb(t, 2)
		for i := range size {
			s.put(parse(t, fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: hpa-%d, namespace: ns, uid: hpa-%[1]d},
				spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`, i)))
			s.put(oldBudget(t, fmt.Sprint("budget-", i), "{matchLabels: {app: web}}"))
		}
		c := s.clients()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if r, err := guards(t, c); err != nil || len(r.Budgets) != size || len(r.Reverts) != size {
			t.Fatalf("%d budgets, %d autoscalers, error %v", len(r.Budgets), len(r.Reverts), err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := cost(200), cost(800); many > 5*few {
		t.Errorf("200 budgets and autoscalers allocate %d bytes, 800 allocate %d", few, many)
	}
}
