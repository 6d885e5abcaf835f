package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// An owner reference identifies a kind by name and group. The version does not matter.
func TestKindOfOwnerReference(t *testing.T) {
	t.Parallel()
	kind := kinds.ImoocPod()
	k := &kindSet{}
	k.Store(kind.CRD(), &owners{kind: kind})
	group := kind.Resource.Group
	for name, test := range map[string]struct {
		apiVersion, kind string
		want             bool
	}{
		"the kind":                  {group + "/" + kind.Resource.Version, kind.Kind, true},
		"another version":           {group + "/v9", kind.Kind, true},
		"another group":             {"example.com/" + kind.Resource.Version, kind.Kind, false},
		"core group":                {"v1", kind.Kind, false},
		"another kind of the group": {group + "/" + kind.Resource.Version, "Other", false},
		"malformed apiVersion":      {"a/b/c", kind.Kind, false},
	} {
		pod := &metav1.ObjectMeta{Namespace: "a", OwnerReferences: []metav1.OwnerReference{{APIVersion: test.apiVersion, Kind: test.kind, Name: "foo", Controller: new(true)}}}
		if got, key := k.controllerOf(pod); (got != nil) != test.want || (key.Name == "foo") != test.want {
			t.Errorf("%s: controller found = %v, want %v", name, got != nil, test.want)
		}
	}
}

// A missing CRD is logged only once, even if the Deployments that its kind needs cannot be listed. "install" is
// suggested only for a CRD that this program ships.
func TestMissingCRDIsLoggedOnce(t *testing.T) {
	_, worker := declaredKind{plan: kinds.StrategyPods}.worker(t)
	inWorld(t, []kinds.Kind{kinds.AppService()}, func(w *world) {
		w.Forbid(apiserver.On("list|watch", "deployments"))
		w.start(func(o *Options) { o.Kinds = append(o.Kinds, kinds.HelloWorld(), worker) })
		<-time.After(time.Minute)
		for _, word := range []string{kinds.HelloWorld().CRD() + " is not installed: run", worker.CRD() + " is not installed; waiting", "cannot list"} {
			if lines := w.logged(word); len(lines) != 1 {
				t.Errorf("log: %q, want one line with %q", lines, word)
			}
		}
	})
}

// A named kind whose CRD declares nothing stays refused after the CRD is changed or recreated.
func TestUndeclaredKindStaysRefused(t *testing.T) {
	crd, kind := declaredKind{plan: kinds.StrategyPods}.worker(t)
	crd.SetAnnotations(nil)
	inWorld(t, nil, func(w *world) {
		w.Create(crd)
		w.start(func(o *Options) { o.Declared = Declarations{Named: []string{kind.CRD()}} })
		w.passes(time.Second)
		w.Update("customresourcedefinitions", "", kind.CRD(), func(crd *unstructured.Unstructured) {
			crd.SetLabels(map[string]string{"a": "b"})
		})
		w.passes(time.Second)
		if err := w.c.Refused()[kind.CRD()]; err == nil {
			t.Error("the kind is no longer refused, although its CRD declares nothing")
		}
		w.As("user").Delete("customresourcedefinitions", "", kind.CRD())
		w.passes(time.Second)
		w.Create(crd)
		w.passes(time.Second)
		if err := w.c.Refused()[kind.CRD()]; err == nil {
			t.Error("the kind is no longer refused, although its new CRD declares nothing")
		}
	})
}
