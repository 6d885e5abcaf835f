package replicas

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func replicasOf(manager, subresource string) map[string]any {
	return map[string]any{"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}}
}

// Undone returns the recorded count only if the object still has the count that was set together with the
// record.
func TestUndone(t *testing.T) {
	t.Parallel()
	const last = `{"from":3,"to":5,"path":".spec.replicas"}`
	ours, byScale, person := replicasOf(kinds.FieldManager, ""), replicasOf(kinds.FieldManager, "scale"), replicasOf("kubectl", "")
	for _, test := range []struct {
		what    string
		text    string
		count   any
		manager map[string]any
		want    error
		says    string
	}{
		{"the last change", last, int64(5), ours, nil, ""},
		{"nothing remembered", "-", int64(5), ours, outcome.ErrPrecondition, "it remembers no earlier one"},
		{"another count", last, int64(7), person, outcome.ErrOverwritten, `imoocpod/foo was scaled from 3 to 5, and the field manager "kubectl" has set it since; it is 7 now` + "\nhint: to set it back all the same: kubectl imoocpod scale imoocpods.batch.tutorial.kubebuilder.io/foo -n shop --replicas 3 --current-replicas 7"},
		{"the same count, set by another", last, int64(5), person, outcome.ErrOverwritten, `the field manager "kubectl" has set it since; it is 5 now`},
		{"nobody recorded", last, int64(5), map[string]any{"manager": "x"}, outcome.ErrOverwritten, "someone else has set it since"},
		{"through /scale", last, int64(5), byScale, outcome.ErrOverwritten, "this program, without recording the count before, has set it since"},
		{"another field", `{"from":3,"to":5,"path":".spec.size"}`, int64(5), ours, outcome.ErrPrecondition, "the last change was of .spec.size, and not of .spec.replicas"},
		{"back to zero", `{"from":0,"to":5,"path":".spec.replicas"}`, int64(5), ours, nil, ""},
		{"no JSON", "three", int64(5), ours, outcome.ErrPrecondition, "the annotation imoocpod.dev/last-scale is invalid"},
		{"a change to zero", `{"from":3,"to":0,"path":".spec.replicas"}`, int64(0), ours, nil, ""},
		{"a change from zero to zero", `{"from":0,"to":0,"path":".spec.replicas"}`, int64(0), ours, nil, ""},
		{"no count before", `{"to":5,"path":".spec.replicas"}`, int64(5), ours, outcome.ErrPrecondition, "it needs two counts"},
		{"no count after", `{"from":5,"path":".spec.replicas"}`, int64(5), ours, outcome.ErrPrecondition, "it needs two counts"},
		{"a count after it below zero", `{"from":3,"to":-5,"path":".spec.replicas"}`, int64(5), ours, outcome.ErrPrecondition, "it needs two counts"},
		{"no counts", "{}", int64(5), ours, outcome.ErrPrecondition, "it needs two counts"},
		{"a count below zero", `{"from":-3,"to":5,"path":".spec.replicas"}`, int64(5), ours, outcome.ErrPrecondition, "it needs two counts"},
		{"a count that is too large", `{"from":3000000000,"to":5,"path":".spec.replicas"}`, int64(5), ours, outcome.ErrPrecondition, "is invalid"},
		{"no count now", last, nil, ours, outcome.ErrPrecondition, "but .spec.replicas is not set"},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "foo", "managedFields": []any{test.manager}}, "spec": map[string]any{},
		}}
		if test.count != nil {
			_ = unstructured.SetNestedField(obj.Object, test.count, "spec", "replicas")
		}
		if test.text != "-" {
			obj.SetAnnotations(map[string]string{apis.AnnotationLastScale: test.text})
		}
		n, err := Undone(ofFoo(), obj, specReplicas())
		switch {
		case test.want == nil && (err != nil || !strings.Contains(test.text, fmt.Sprintf(`"from":%d,`, n))):
			t.Errorf("%s: %d, %v", test.what, n, err)
		case test.want != nil && (!errors.Is(err, test.want) || !strings.Contains(told(err), test.says)):
			t.Errorf("%s: %v, want %v: %s", test.what, err, test.want, test.says)
		}
	}
}

// An undo never overwrites a count that another client sets between the read and the write.
func TestUndoRaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.CreateCRDs()
	s.put(imoocPod(3))
	set := func(c Request) (Result, error) {
		c.Current = AnyCount
		to := ofFoo()
		to.Object = s.stored(to)
		return Set(t.Context(), to.Resource(s.objects), to, discover.Field{Scale: true, Path: new(specReplicas())}, c)
	}
	if _, err := set(Request{Replicas: 5}); err != nil {
		t.Fatal(err)
	}
	s.others = []func(){s.noted(ofFoo())} // a change of another field does not prevent an undo
	if done, err := set(Request{Undo: true}); err != nil || done.String() != "5 → 3" {
		t.Fatalf("%s, %v", done, err)
	}
	before := len(s.writes)
	s.others = []func(){s.scaled(ofFoo(), 9)}
	if _, err := set(Request{Undo: true}); !errors.Is(err, outcome.ErrOverwritten) || s.count(ofFoo()) != 9 || len(s.writes) != before {
		t.Errorf("%v, and the count is %d", err, s.count(ofFoo()))
	}
}

func TestRememberWithoutACount(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	edits, err := remember(ofFoo(), obj, specReplicas(), Request{Replicas: 5})
	if err != nil || len(edits) != 1 || edits[0].Value != nil {
		t.Errorf("%+v, %v", edits, err)
	}
	if edits, err = remember(ofWeb(), obj, specReplicas(), Request{Replicas: 5}); err != nil || len(edits) > 0 {
		t.Errorf("of others: %+v, %v", edits, err)
	}
}

// The command that restores the count contains the path of the count if this path is not the kind's own.
func TestUndoneNamesTheField(t *testing.T) {
	t.Parallel()
	size := fieldpath.Fields("spec", "size")
	theirs := ofWeb()
	for _, test := range []struct {
		target observe.Target
		path   fieldpath.Path
		want   string
	}{
		{ofFoo(), specReplicas(), "--replicas 3 --current-replicas 5"},
		{ofFoo(), size, "--replicas 3 --current-replicas 5 --replicas-path .spec.size"},
		{theirs, specReplicas(), "--replicas 3 --current-replicas 5 --replicas-path .spec.replicas"},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(5), "size": int64(5)}}}
		obj.SetAnnotations(map[string]string{apis.AnnotationLastScale: `{"from":3,"to":5,"path":"` + test.path.String() + `"}`})
		if _, err := Undone(test.target, obj, test.path); !errors.Is(err, outcome.ErrOverwritten) || !strings.HasSuffix(told(err), test.want+pasted) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// pasted contains the flags that the function told adds to each command.
const pasted = " --context=staging --as=alice"

// told formats an error with its hints, like main.
func told(err error) string {
	return err.Error() + outcome.HintLines(err, commandline.Context{"--context=staging", "--as=alice"})
}
