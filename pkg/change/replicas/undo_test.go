package replicas

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

// Undone returns the recorded count only if the object still has the count that was set together with the record.
func TestUndone(t *testing.T) {
	t.Parallel()
	type row struct {
		Name, Target, Annotation, Path string
		Count                          *int64
		// Manager manages the count, through Subresource.
		Manager, Subresource string
		Restores             int32
		Error                string // the start of the error with its hints
	}
	rows.Run(t, "testdata/undo.yaml", time.Time{}, func(t *testing.T, row row) {
		path := fieldpath.Fields("spec", cmp.Or(row.Path, "replicas"))
		obj := parse(t, "{metadata: {name: foo}, spec: {}}")
		if row.Count != nil {
			if err := path.Set(obj.Object, *row.Count); err != nil {
				t.Fatal(err)
			}
		}
		if row.Annotation != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationLastScale: row.Annotation})
		}
		if row.Manager != "" {
			entry := metav1.ManagedFieldsEntry{Manager: row.Manager, Subresource: row.Subresource}
			entry.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{entry})
		}
		n, err := Undone(requestRow{Target: row.Target}.target(), obj, path)
		if n != row.Restores || (err != nil) != (row.Error != "") || err != nil && !strings.HasPrefix(formatError(err), row.Error) {
			t.Errorf("Undone = %d, %v, want %d, error prefix %q", n, err, row.Restores, row.Error)
		}
		for _, is := range []error{outcome.ErrPrecondition, outcome.ErrOverwritten} {
			if errors.Is(err, is) != strings.HasPrefix(row.Error, is.Error()) {
				t.Errorf("errors.Is(%v, %v) = %t", err, is, errors.Is(err, is))
			}
		}
	})
}

// An undo never overwrites a count that another client sets between the read and the write.
func TestUndoRaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.CreateCRDs()
	s.put(imoocPod(3))
	set := func(r Request) (Result, error) {
		r.Current = AnyCount
		to := ofFoo()
		to.Object = s.stored(to)
		r.FieldManager = kinds.FieldManager
		return Set(t.Context(), to.Resource(s.objects), to, discover.Field{Scale: true, Path: new(specReplicas())}, r)
	}
	if _, err := set(Request{Replicas: 5}); err != nil {
		t.Fatal(err)
	}
	s.others = []func(){s.noted(ofFoo())} // a change of another field does not prevent an undo
	if done, err := set(Request{Undo: true}); err != nil || done.String() != "5 → 3" {
		t.Fatalf("undo = %s, %v, want 5 → 3", done, err)
	}
	before := len(s.writes)
	s.others = []func(){s.scaled(ofFoo(), 9)}
	if _, err := set(Request{Undo: true}); !errors.Is(err, outcome.ErrOverwritten) || s.count(ofFoo()) != 9 || len(s.writes) != before {
		t.Errorf("undo after another writer: error %v, count %d; want ErrOverwritten, 9, and no write", err, s.count(ofFoo()))
	}
}

func TestRememberWithoutACount(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	edits := remember(ofFoo(), obj, specReplicas(), Request{Replicas: 5})
	if len(edits) != 1 || edits[0].Value != nil {
		t.Errorf("edits for foo = %+v, want one that removes the record", edits)
	}
	if edits = remember(ofWeb(), obj, specReplicas(), Request{Replicas: 5}); len(edits) > 0 {
		t.Errorf("edits for a kind that another controller reconciles = %+v, want none", edits)
	}
}

// formatError formats an error with its hints, like main.
func formatError(err error) string {
	return err.Error() + outcome.HintLines(err, commandline.Context{"--context=staging", "--as=alice"})
}
