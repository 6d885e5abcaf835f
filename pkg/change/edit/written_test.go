package edit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

// A revert undoes the whole change if the change is still in place. It keeps all other changes. Check returns the
// same error as a revert.
func TestReverse(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string
		// Path is the path of the change within the spec.
		Path                     []string
		Before, After, Now, Want any
		// Manager is the field manager of Now.
		Manager, Lost string
	}
	rows.Run(t, "testdata/written.yaml", time.Time{}, func(t *testing.T, row row) {
		w := Written{Fields: []Field{{Path: fieldpath.Fields(append([]string{"spec"}, row.Path...)...), Before: row.Before, After: row.After}}}
		now := &unstructured.Unstructured{Object: map[string]any{"spec": row.Now}}
		if row.Manager != "" {
			now.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: row.Manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}})
		}
		edits, err := w.reverse(now)
		if errors.Is(err, outcome.ErrOverwritten) != (row.Lost != "") || err != nil && !strings.HasPrefix(err.Error(), row.Lost) {
			t.Errorf("reverse error = %v, want prefix %q", err, row.Lost)
		}
		if checked := w.Check(now); fmt.Sprint(checked) != fmt.Sprint(err) {
			t.Errorf("reverse error = %v, but Check error = %v", err, checked)
		}
		if err != nil {
			return
		}
		for _, e := range edits {
			if err := e.Apply(now.Object); err != nil {
				t.Fatal(err)
			}
		}
		if got := now.Object["spec"]; !reflect.DeepEqual(got, row.Want) {
			t.Errorf("spec after the revert = %v, want %v", got, row.Want)
		}
	})
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
			t.Errorf("%s: object after the revert = %v, want %v", test.before, now.Object, want.Object)
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
			t.Errorf("Check(%s) = %v, want no error: %t", now, err, holds)
		}
	}
}
