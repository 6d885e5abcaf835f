package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// history returns the revisions of an object, oldest first.
func history(t *testing.T, namespace string, uid types.UID) []unstructured.Unstructured {
	t.Helper()
	list, err := cluster.Dynamic.Resource(harness.Resource("controllerrevisions.apps")).Namespace(namespace).
		List(t.Context(), metav1.ListOptions{LabelSelector: apis.LabelOwner + "=" + string(uid)})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Compare(revisionOf(&a), revisionOf(&b))
	})
	return list.Items
}

func revisionOf(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "revision")
	return n
}

// changesHistory removes the label of a revision, and then creates more revisions than the limit, so
// that a controller performs each kind of write to the history. It waits for these writes.
func changesHistory(t *testing.T, ns string, owner *unstructured.Unstructured) {
	t.Helper()
	unlabelRevisions(t, ns)
	harness.Eventually(t, "the revision has its label again", func() bool { return len(history(t, ns, owner.GetUID())) == 1 })
	addRevisions(t, ns, owner)
	harness.Eventually(t, "the oldest revisions are gone", func() bool {
		revisions := history(t, ns, owner.GetUID())
		return len(revisions) == 11 && revisionOf(&revisions[10]) == 13
	})
}

func unlabelRevisions(t *testing.T, ns string) {
	t.Helper()
	harness.Eventually(t, "there is a revision", func() bool {
		return harness.Must(t, cluster.Kubectl(t, ns, "get", "controllerrevisions", "-o", "name")) != ""
	})
	harness.Must(t, cluster.Kubectl(t, ns, "label", "controllerrevisions", "--all", apis.LabelOwner+"-"))
}

// addRevisions creates twelve revisions of an object, like a controller.
func addRevisions(t *testing.T, ns string, owner *unstructured.Unstructured) {
	t.Helper()
	for n := int64(1); n <= 12; n++ {
		revision := &unstructured.Unstructured{Object: map[string]any{"revision": n, "data": map[string]any{}}}
		revision.SetAPIVersion("apps/v1")
		revision.SetKind("ControllerRevision")
		revision.SetName(plan.RevisionName(owner.GetName(), owner.GetUID(), fmt.Sprintf("%016x", n)))
		revision.SetLabels(map[string]string{apis.LabelOwner: string(owner.GetUID())})
		revision.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
		if _, err := cluster.Dynamic.Resource(harness.Resource("controllerrevisions.apps")).Namespace(ns).Create(t.Context(), revision, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
