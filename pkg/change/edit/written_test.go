package edit

import (
	"errors"
	"reflect"
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

// Check returns no error if the object still has the written values. Other fields do not matter.
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

// A revert undoes the whole change if the change is still in place. It keeps all other changes.
func TestReverse(t *testing.T) {
	t.Parallel()
	const before = "spec: {labels: {a: '1'}, containers: [{name: a, image: a:1, env: [{name: W, value: w}, {name: X, value: x}]}, {name: b, image: b:1}]}"
	const after = "spec: {labels: {b: '2'}, containers: [{name: a, image: a:2, env: [{name: X, value: x}, {name: V, value: v}]}, {name: b, image: b:1}]}"
	for _, test := range []struct{ what, before, after, now, want, lost string }{
		{"nothing happened", before, after, after, before, ""},
		{"nothing was changed, and nothing is", after, after, after, after, ""},
		{"nothing was changed, and something was added", after, after, strings.Replace(after, "{labels", "{n: 1, labels", 1), strings.Replace(after, "{labels", "{n: 1, labels", 1), ""},
		{"nothing was changed, and something is", after, after, before, "", `.spec.containers[?(@.name=="a")].env[?(@.name=="V")] was set to`},
		{"fields beside it have changed", before, after,
			"spec: {n: 1, labels: {b: '2', c: '3'}, containers: [{name: c}, {name: a, image: a:2, tty: true, env: [{name: X, value: z}, {name: V, value: v}, {name: Z}]}, {name: b, image: b:9}]}",
			"spec: {n: 1, labels: {a: '1', c: '3'}, containers: [{name: c}, {name: a, image: a:1, tty: true, env: [{name: W, value: w}, {name: X, value: z}, {name: Z}]}, {name: b, image: b:9}]}", ""},
		{"it is undone", before, after, before, "", `.spec.containers[?(@.name=="a")].env[?(@.name=="V")] was set to`},
		{"another image", before, after, "spec: {labels: {b: '2'}, containers: [{name: a, image: a:3, env: [{name: X, value: x}, {name: V, value: v}]}]}", "", `.spec.containers[?(@.name=="a")].image was set to a:2, and someone else set it to a:3`},
		{"its container is gone", before, after, "spec: {labels: {b: '2'}, containers: [{name: b, image: b:1}]}", "", `.spec.containers[?(@.name=="a")] was set to`},
		{"what it removed is back", before, after, "spec: {labels: {a: '7', b: '2'}, containers: [{name: a, image: a:2, env: [{name: X, value: x}, {name: V, value: v}]}]}", "", `.spec.labels.a was removed, and someone else set it to 7`},
		{"a field that was new", "{}", "spec: {at: {a: 1}}", "spec: {at: {a: 1}}", "{}", ""},
		{"a field that was new and has more now", "{}", "spec: {at: {a: 1}}", "spec: {at: {a: 1, b: 2}}", "spec: {at: {b: 2}}", ""},
		{"a container that was new and has more now", "spec: {c: [{name: a}]}", "spec: {c: [{name: a}, {name: b}]}", "spec: {c: [{name: a, tty: true}, {name: b, tty: true}]}", "spec: {c: [{name: a, tty: true}]}", ""},
		{"a list without names", "spec: {l: [1]}", "spec: {l: [1, 2]}", "spec: {m: 1, l: [1, 2]}", "spec: {m: 1, l: [1]}", ""},
		{"another list without names", "spec: {l: [1]}", "spec: {l: [1, 2]}", "spec: {l: [3]}", "", ".spec.l was set to [1,2]"},
	} {
		path := fieldpath.Fields("spec")
		w := Written{Fields: []Field{{Path: path, Before: parse(t, test.before).Object["spec"], After: parse(t, test.after).Object["spec"]}}}
		now := parse(t, test.now)
		edits, err := w.reverse(now)
		if errors.Is(err, outcome.ErrOverwritten) != (test.lost != "") || err != nil && !strings.HasPrefix(err.Error(), test.lost) {
			t.Errorf("%s: %v, want %q", test.what, err, test.lost)
		}
		if err != nil {
			continue
		}
		for _, e := range edits {
			if err := e.Apply(now.Object); err != nil {
				t.Fatal(err)
			}
		}
		if want := parse(t, test.want); !reflect.DeepEqual(now.Object, want.Object) {
			t.Errorf("%s: %v, want %v", test.what, now.Object, want.Object)
		}
	}
}

// A revert also removes the parent objects that the write created, if they are empty.
func TestReverseWithParents(t *testing.T) {
	t.Parallel()
	path := fieldpath.Fields("spec", "template", "metadata", "annotations", "at")
	for _, test := range []struct{ before, beside, want string }{
		{"spec: {template: {}}", "", "spec: {template: {}}"},
		{"spec: {template: {metadata: {annotations: {}}}}", "", "spec: {template: {metadata: {annotations: {}}}}"},
		{"spec: {template: {metadata: {labels: {}}}}", "", "spec: {template: {metadata: {labels: {}}}}"},
		{"spec: {template: {}}", "b", "spec: {template: {metadata: {annotations: {b: c}}}}"},
	} {
		obj, now := parse(t, test.before), parse(t, test.before)
		write := fieldpath.Edit{Path: path, Value: "a"}
		if err := write.Apply(now.Object); err != nil {
			t.Fatal(err)
		}
		w := Written{Object: now}
		if err := w.record(obj, []fieldpath.Edit{write}); err != nil {
			t.Fatal(err)
		}
		if test.beside != "" {
			if err := unstructured.SetNestedField(now.Object, "c", "spec", "template", "metadata", "annotations", test.beside); err != nil {
				t.Fatal(err)
			}
		}
		edits, err := w.reverse(now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if err := e.Apply(now.Object); err != nil {
				t.Fatal(err)
			}
		}
		if want := parse(t, test.want); !reflect.DeepEqual(now.Object, want.Object) {
			t.Errorf("%s: %v, want %v", test.before, now.Object, want.Object)
		}
	}
}

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
