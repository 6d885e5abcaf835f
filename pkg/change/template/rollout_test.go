package template

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A pod matches a change if it has all values that the change wrote. Other fields do not matter.
func TestHas(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	template := func(image string, more object) object {
		container := object{"name": "main", "image": image}
		maps.Copy(container, more)
		return object{"metadata": object{"labels": object{"app": "web"}}, "spec": object{"containers": []any{container}}}
	}
	pod := template("a", object{"env": []any{object{"name": "X", "value": "1"}}, "imagePullPolicy": "Always"})
	whole := fieldpath.Fields("spec", "groupTemplate", "worker")
	image, err := fieldpath.ParsePath(`.spec.groupTemplate.worker.spec.containers[?(@.name=="main")].image`)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path          fieldpath.Path
		before, after any
		want          bool
	}{
		"template with the pod's image":   {whole, template("b", nil), template("a", nil), true},
		"template with another image":     {whole, template("a", nil), template("b", nil), false},
		"only the pod's image":            {image, "b", "a", true},
		"only another image":              {image, "a", "b", false},
		"a variable of the pod":           {whole, template("a", nil), template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), true},
		"another value of a variable":     {whole, template("a", nil), template("a", object{"env": []any{object{"name": "X", "value": "2"}}}), false},
		"a removal of a present variable": {whole, template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), template("a", nil), false},
		"a removal of an absent variable": {whole, template("a", object{"env": []any{object{"name": "Y"}}}), template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), true},
		"a field outside a template":      {fieldpath.Fields("spec", "image"), "b", "a", false},
		"no change in the template":       {whole, template("a", nil), template("a", nil), false},
	} {
		done := Result{Before: []revision.Field{{Path: test.path, Value: test.before}}, After: []revision.Field{{Path: test.path, Value: test.after}}}
		if got := has(pod, done); got != test.want {
			t.Errorf("%s: has = %t, want %t", name, got, test.want)
		}
	}
}

// After some changes, the status or labels show whether all pods are updated. After others, the old pods
// must be gone, except pods that already match the change.
func TestRolledOut(t *testing.T) {
	t.Parallel()
	const sets = "apiVersion: example.com/v1, kind: Set, "
	_, client := serverOf(t,
		parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: ns, uid: old}, spec: {containers: [{name: main, image: a}]}}"),
		parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: ns, uid: new}, spec: {containers: [{name: main, image: b}]}}"))
	template := func(image string) []revision.Field {
		return []revision.Field{{Path: fieldpath.Fields("spec", "template"), Value: parse(t, "spec: {containers: [{name: main, image: "+image+"}]}").Object}}
	}
	restart := func(at any) []revision.Field {
		return []revision.Field{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationRestartedAt), Value: at}}
	}
	change := Result{Before: template("a"), After: template("b"), Change: "image a → b"}
	restarted := Result{Before: restart(nil), After: restart("now"), Change: "restarted"}
	for name, test := range map[string]struct {
		kind   kinds.Kind
		object string
		done   Result
		pods   []types.UID
		want   string
	}{
		"no change":              {kindOf("example.com", "sets"), "{" + sets + "}", Result{}, []types.UID{"old"}, "ready"},
		"an in-place update":     {kindOf("example.com", "sets"), "{" + sets + "spec: {updateStrategy: {type: InPlaceIfPossible}}}", change, []types.UID{"old"}, "ready"},
		"a built-in kind":        {kindOf("apps", "deployments"), "{}", change, []types.UID{"old"}, "ready"},
		"an old pod":             {kindOf("example.com", "sets"), "{" + sets + "}", change, []types.UID{"old", "new"}, "ready with new pods"},
		"a matching pod":         {kindOf("example.com", "sets"), "{" + sets + "}", change, []types.UID{"new"}, "ready"},
		"a restart of an object": {kinds.HelloWorld(), "{}", restarted, []types.UID{"old"}, "ready with new pods"},
	} {
		target := targetOf(t, test.kind, test.object)
		var before []problem.Pod
		for _, uid := range test.pods {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid}}
			before = append(before, problem.Pod{Name: pod.Name, UID: uid, Object: pod})
		}
		if got := RolledOut(t.Context(), client, target, before, test.done).Done; got != test.want {
			t.Errorf("%s: Done = %q, want %q", name, got, test.want)
		}
	}
}

func TestMarkFailed(t *testing.T) {
	t.Parallel()
	target := targetOf(t, kindOf("apps", "deployments"), fmt.Sprintf(running, "b"))
	_, client := serverOf(t, replicaSet(t, "1", "a", "web"), replicaSet(t, "2", "b", "web"))
	history, err := History(t.Context(), client, target)
	if err != nil {
		t.Fatal(err)
	}
	if marks := MarkFailed(t.Context(), client, target, Result{}); marks != nil {
		t.Errorf("edits for an unknown revision = %v, want none", marks)
	}
	for _, edit := range MarkFailed(t.Context(), client, target, Result{After: history.Now}) {
		if err := edit.Apply(target.Object.Object); err != nil {
			t.Fatal(err)
		}
	}
	if !MarkedFailed(target, history.Revisions[0]) || MarkedFailed(target, history.Revisions[1]) {
		t.Errorf("want only the current revision to be marked as failed, annotations %v", target.Object.GetAnnotations())
	}
}
