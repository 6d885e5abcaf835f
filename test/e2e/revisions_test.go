package e2e

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
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

// The template is changed from A to B and back to A, either after the rollout of B, or in the
// middle of it and with a second controller. If any write fails in any way, no pod of A is replaced
// while A is wanted, and there is never an extra pod. The final history consists of B and A, with A
// as the newest revision.
func TestEveryCrashPointOfAHistory(t *testing.T) {
	t.Parallel()
	const n = 2
	for name, test := range map[string]struct{ midway, two bool }{
		"one loop": {}, "two loops, midway": {midway: true, two: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// At least three revisions, n pods with A, and one pod with B are written.
			everyCrashPoint(t, 3+n+1, func(t *testing.T, k int64, way string) int64 {
				ns := cluster.NewNamespace(t)
				w := cluster.WatchPods(t, ns)
				d := cluster.NewDriver(t, ns, w)
				d.Create(n, map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "web:a"}}}})
				writes := startCrashing(t, ns, d, k, way, d.Check())
				if test.two {
					cluster.StartController(t, controller.Options{Namespace: ns, Kinds: []kinds.Kind{kinds.ImoocPod()}}, d.Check())
				}
				w.AwaitConverged(t, "foo", n)
				before := cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Get()
				runs := func(image string, pods int) {
					t.Helper()
					w.Until(t, "pods run "+image, func() bool {
						n := 0
						for _, pod := range w.Pods {
							if pod.Spec.Containers[0].Image == image {
								n++
							}
						}
						return n >= pods
					})
				}
				d.SetImage("web:b")
				if test.midway {
					runs("web:b", 1)
				} else {
					runs("web:b", n)
					w.AwaitConverged(t, "foo", n)
				}
				d.SetImage("web:a")
				runs("web:a", n)
				w.AwaitConverged(t, "foo", n)
				d.Close()
				after := cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Get()
				if !reflect.DeepEqual(before.Object["spec"], after.Object["spec"]) {
					t.Errorf("foo asks for\n%v\nand asked for\n%v", after.Object["spec"], before.Object["spec"])
				}
				var images []string
				harness.Eventually(t, "the history is that of B and A", func() bool {
					images = nil
					for _, revision := range history(t, ns, d.UID) {
						template, _, err := unstructured.NestedMap(revision.Object, "data", "spec", "template")
						if err != nil || template == nil {
							t.Fatalf("a revision keeps %v (%v)", revision.Object["data"], err)
						}
						containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
						image, _ := containers[0].(map[string]any)["image"].(string)
						images = append(images, image)
					}
					return slices.Equal(images, []string{"web:b", "web:a"})
				})
				kept, _, _ := unstructured.NestedMap(history(t, ns, d.UID)[1].Object, "data", "spec", "template")
				asked, _, _ := unstructured.NestedMap(before.Object, "spec", "template")
				if !reflect.DeepEqual(kept, asked) {
					t.Errorf("the newest revision keeps\n%v\nof the template\n%v", kept, asked)
				}
				if most := w.MostLive(d.UID); most > n {
					t.Errorf("%d live pods at once for %d slots", most, n)
				}
				return writes.Load()
			})
		})
	}
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
