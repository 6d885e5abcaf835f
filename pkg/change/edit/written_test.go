package edit

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// A change holds as long as the object has what the change made of it, whatever becomes of
// the fields beside it.
func TestCheck(t *testing.T) {
	t.Parallel()
	const before = "spec: {template: {spec: {containers: [{name: a, image: a:1, env: [{name: X, value: x}]}, {name: b, image: b:1}]}}}"
	const after = "spec: {template: {spec: {containers: [{name: a, image: a:2, env: [{name: X, value: x}, {name: V, value: w}]}, {name: b, image: b:1}]}}}"
	for _, test := range []struct{ what, before, after, now, lost string }{
		{"nothing happened", before, after, after, ""},
		{"another container has changed", before, after, "spec: {template: {spec: {containers: [{name: a, image: a:2, env: [{name: X, value: x}, {name: V, value: w}]}, {name: b, image: b:9}]}}}", ""},
		{"a container and an annotation were added", before, after, "spec: {template: {metadata: {annotations: {at: now}}, spec: {containers: [{name: c}, {name: a, image: a:2, env: [{name: V, value: w}]}]}}}", ""},
		{"another image", before, after, "spec: {template: {spec: {containers: [{name: a, image: a:3, env: [{name: V, value: w}]}, {name: b, image: b:1}]}}}", `.spec.template.spec.containers[?(@.name=="a")].image was set to a:2, and the field manager "kubectl-edit" set it to a:3`},
		{"the variable is gone", before, after, "spec: {template: {spec: {containers: [{name: a, image: a:2}, {name: b, image: b:1}]}}}", `.spec.template.spec.containers[?(@.name=="a")].env was set to [{"name":"X","value":`},
		{"as before", before, after, before, `.spec.template.spec.containers[?(@.name=="a")].env[?(@.name=="V")] was set to {"name":"V","value":"w"}`},
		{"nothing was changed, and nothing is", after, after, after, ""},
		{"nothing was changed, and something was added", after, after, "spec: {template: {metadata: {annotations: {at: now}}, spec: {containers: [{name: a, image: a:2, env: [{name: X, value: x}, {name: V, value: w}]}, {name: b, image: b:1}]}}}", ""},
		{"nothing was changed, and an image is", after, after, before, `.spec.template.spec.containers[?(@.name=="a")]`},
		{"a removed field is back", before, "spec: {}", before, ".spec.template was removed, and the field manager"},
		{"all is gone", before, after, "spec: odd", ".spec.template was set to "},
	} {
		now := parse(t, test.now)
		now.SetManagedFields(parse(t, `metadata: {managedFields: [{manager: kubectl-edit, operation: Update, time: "2024-05-06T07:08:09Z", fieldsType: FieldsV1, fieldsV1: {'f:spec': {}}}]}`).GetManagedFields())
		w := Written{Fields: []Field{{Path: fieldpath.Fields("spec", "template")}}}
		var err error
		if w.Fields[0].Before, err = w.Fields[0].Path.Value(parse(t, test.before).Object); err != nil {
			t.Fatal(err)
		}
		if w.Fields[0].After, err = w.Fields[0].Path.Value(parse(t, test.after).Object); err != nil {
			t.Fatal(err)
		}
		err = w.Check(now)
		if errors.Is(err, outcome.ErrOverwritten) != (test.lost != "") || err != nil && !strings.HasPrefix(err.Error(), test.lost) {
			t.Errorf("%s: %v, want %q", test.what, err, test.lost)
		}
	}
}

// What was created is what the request said, with the values in the answer.
func TestCreated(t *testing.T) {
	t.Parallel()
	request := parse(t, "{apiVersion: v1, kind: Foo, metadata: {name: foo}, spec: {size: 1000m, list: [{a: 1}]}}")
	answer := parse(t, "{apiVersion: v1, kind: Foo, metadata: {name: foo, uid: u}, spec: {size: '1', replicas: 1, list: [{a: 1, b: 2}]}, status: {}}")
	w := Created(request, answer)
	for now, holds := range map[string]bool{
		"spec: {size: '1', replicas: 5, list: [{a: 1, b: 2}]}": true,
		"spec: {size: '2', replicas: 1, list: [{a: 1, b: 2}]}": false,
	} {
		if err := w.Check(parse(t, now)); (err == nil) != holds {
			t.Errorf("%s: %v", now, err)
		}
	}
}
