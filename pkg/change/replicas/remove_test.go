package replicas

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Check returns an error if a kind does not support --remove, --reuse, or --undo. It sends no request.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind kinds.Kind
		want string
	}{
		{kinds.ImoocPod(), ""},
		{kindOf("apps", "v1", "Deployment"), ""},
		{kindOf("apps", "v1", "ReplicaSet"), ""},
		{kindOf("apps.kruise.io", "v1beta1", "CloneSet"), ""},
		{kindOf("apps.kruise.io", "v1beta1", "StatefulSet"), "this program does not know how to choose pods of this kind"},
		{kindOf("example.com", "v1", "CloneSet"), "this program does not know how to choose pods of this kind"},
		{kindOf("apps", "v1", "StatefulSet"), "a StatefulSet always deletes the pod with the highest ordinal"},
		{kinds.AppService(), "run-controller sets the count of its Deployment, which chooses the pods itself"},
		{kinds.MyDaemonSet(), "it runs one pod per node"},
	} {
		target := observe.Target{Kind: test.kind, Name: "x"}
		err := Request{Remove: []string{"x-0"}}.Check(target)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("--remove for %s: error %v, want %q", test.kind, err, test.want)
		}
		if err := (Request{Reuse: true}).Check(target); (err == nil) != (test.kind.Mapping.Strategy == kinds.StrategyPods) {
			t.Errorf("--reuse for %s: error %v", test.kind, err)
		}
		if err := (Request{Undo: true}).Check(target); (err == nil) != test.kind.Reconciled() {
			t.Errorf("--undo for %s: error %v", test.kind, err)
		}
		if err := (Request{}).Check(target); err != nil {
			t.Errorf("no options for %s: error %v, want none", test.kind, err)
		}
	}
}

// A change stays valid if OpenKruise removes the deleted pods from podsToDelete.
func TestRemoveFromCloneSetStaysValid(t *testing.T) {
	t.Parallel()
	row := requestRow{Target: "cloneset/web", Request: Request{Remove: []string{"web-a"}}}
	s := row.serve(t)
	done, err := row.send(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Update("clonesets", "shop", "web", func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, "spec", "scaleStrategy")
	})
	if err := done.Check(s.stored(row.target())); err != nil {
		t.Error(err)
	}
}
