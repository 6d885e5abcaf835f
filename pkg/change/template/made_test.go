package template

import (
	"maps"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// A pod matches a change if it has all values that the change wrote. Other fields do not
// matter.
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
		"the image of the pod":              {whole, template("b", nil), template("a", nil), true},
		"another image":                     {whole, template("a", nil), template("b", nil), false},
		"the image alone":                   {image, "b", "a", true},
		"another image alone":               {image, "a", "b", false},
		"its variable":                      {whole, template("a", nil), template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), true},
		"another value":                     {whole, template("a", nil), template("a", object{"env": []any{object{"name": "X", "value": "2"}}}), false},
		"a variable that is gone":           {whole, template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), template("a", nil), false},
		"a variable that it never had":      {whole, template("a", object{"env": []any{object{"name": "Y"}}}), template("a", object{"env": []any{object{"name": "X", "value": "1"}}}), true},
		"a field that is not in a template": {fieldpath.Fields("spec", "image"), "b", "a", false},
		"nothing":                           {whole, template("a", nil), template("a", nil), false},
	} {
		done := Result{Before: []revision.Field{{Path: test.path, Value: test.before}}, After: []revision.Field{{Path: test.path, Value: test.after}}}
		if got := has(pod, done); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestMade(t *testing.T) {
	t.Parallel()
	_, client := serverOf(t, parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: ns, uid: one}, spec: {containers: [{name: main, image: b}]}}"))
	template := func(image string) []revision.Field {
		return []revision.Field{{Path: fieldpath.Fields("spec", "template"), Value: parse(t, "spec: {containers: [{name: main, image: "+image+"}]}").Object}}
	}
	made, err := Made(t.Context(), client, "ns", Result{Before: template("a"), After: template("b")})
	if err != nil || len(made) != 1 || !made["one"] {
		t.Errorf("%v, %v", made, err)
	}
}
