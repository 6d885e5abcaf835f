package observe

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// oldBudget returns a PodDisruptionBudget with an outdated status.
func oldBudget(t testing.TB, name, selector string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s, namespace: ns, uid: %[1]s},
		spec: {minAvailable: 1, selector: %s}, status: {expectedPods: 9, currentHealthy: 9, desiredHealthy: 1, disruptionsAllowed: 8}}`, name, selector))
}

func set(t testing.TB, obj *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	t.Helper()
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		t.Fatal(err)
	}
	return obj
}

// guards returns a report on the Deployment, including the disruption budgets.
func guards(t *testing.T, c *kube.Clients) (status.Report, error) {
	t.Helper()
	s, _, err := Read(t.Context(), c, web(), Extent{Competitors: true, Recount: true})
	return status.NewReport(s), err
}

// Recount counts the active pods that a budget selects, and how many of these pods are ready.
func TestGuardsCountThePodsOfABudget(t *testing.T) {
	t.Parallel()
	s := serveWeb(t, 2)
	gone := podOf(t, "web-1", 2, true)
	s.put(set(t, gone, "2000-01-01T00:00:00Z", "metadata", "deletionTimestamp"))
	s.put(set(t, podOf(t, "web-1", 3, true), "Succeeded", "status", "phase"))
	s.put(set(t, podOf(t, "web-1", 4, true), "Failed", "status", "phase"))
	s.put(podOf(t, "web-1", 5, false))
	scheduled := []any{map[string]any{"type": "PodScheduled", "status": "True"}}
	s.put(set(t, podOf(t, "web-1", 6, false), scheduled, "status", "conditions"))
	other := podOf(t, "other", 0, true)
	other.SetLabels(map[string]string{"app": "other"})
	s.put(other)
	// A budget also counts selected pods that the object does not own.
	stray := podOf(t, "stray", 0, true)
	s.put(stray)
	s.put(oldBudget(t, "broken", "{matchExpressions: [{key: app, operator: Near}]}"))
	s.put(oldBudget(t, "web", "{matchLabels: {app: web}}"))
	r, err := guards(t, s.clients())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Budgets) != 1 || r.Budgets[0].Name != "web" || r.Budgets[0].Pods != 5 || r.Budgets[0].Healthy != 3 {
		t.Errorf("budgets = %+v, want web with 3 healthy of 5 pods", r.Budgets)
	}
}

// Without a budget, no pods are read.
func TestGuardsWithoutABudget(t *testing.T) {
	t.Parallel()
	s := serveWeb(t, 2)
	r, err := guards(t, s.clients())
	if err != nil || len(r.Budgets) != 0 || s.count("list pods") != 0 {
		t.Errorf("report %+v, error %v, %d list requests for pods, want no budget and no request", r, err, s.count("list pods"))
	}
}

// If there is a budget, pods are read at any depth. Unread lists "pods" if reading them is forbidden.
func TestGuardsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, extent := range []Extent{{Competitors: true}, {Competitors: true, Recount: true}} {
		s := serveWeb(t, 2)
		s.put(oldBudget(t, "web", "{matchLabels: {app: web}}"))
		s.forbid("list pods")
		c := s.clients()
		snapshot, _, err := Read(t.Context(), c, web(), extent)
		if r := status.NewReport(snapshot); err != nil || !slices.Equal(r.Unread, []string{"pods"}) {
			t.Errorf("%+v: pods are forbidden: Unread = %v, error %v, want [pods]", extent, r.Unread, err)
		}
		s.Permit()
		s.fail("list pods")
		if _, _, err := Read(t.Context(), c, web(), extent); !apierrors.IsInternalError(err) {
			t.Errorf("%+v: the list of pods fails: error = %v, want InternalError", extent, err)
		}
	}
}
