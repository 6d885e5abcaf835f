package replicas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// lastScale is the JSON value of apis.AnnotationLastScale: the last change of the count by this program.
type lastScale struct {
	From *int32 `json:"from"`
	To   *int32 `json:"to"`
	Path string `json:"path"`
}

// remember returns the edits that record r.Began or, if it is nil, the count before a change. It returns nil if the
// count does not change, or if the kind is not Reconciled. Without a count to record, the edits remove the old record.
func remember(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path, r Request) []fieldpath.Edit {
	before := Before(obj, &path)
	if !t.Kind.Reconciled() || before != nil && *before == r.Replicas {
		return nil
	}
	if r.Began != nil {
		before = r.Began
	}
	var text []byte
	if before != nil && *before != r.Replicas {
		text, _ = json.Marshal(lastScale{From: before, To: &r.Replicas, Path: path.String()}) // cannot fail
	}
	return []fieldpath.Edit{fieldpath.Annotate(apis.AnnotationLastScale, string(text))}
}

// Undone returns the count before the last recorded change. If the count has been set again since, the error is an
// outcome.ErrOverwritten. If no valid earlier count is recorded, the error is an outcome.ErrPrecondition.
func Undone(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path) (int32, error) {
	var last lastScale
	text, found := obj.GetAnnotations()[apis.AnnotationLastScale]
	switch err := json.Unmarshal([]byte(text), &last); {
	case !found:
		return 0, nothingToUndo(t, "it remembers no earlier one. \"scale\" records it if it has the permission to patch the object, and not only its /scale")
	case err != nil:
		return 0, nothingToUndo(t, "the annotation "+apis.AnnotationLastScale+" is invalid: "+escape.Line(err.Error()))
	case last.From == nil || last.To == nil || *last.From < 0 || *last.To < 0:
		return 0, nothingToUndo(t, "the annotation "+apis.AnnotationLastScale+" is invalid: it needs two counts")
	case last.Path != path.String():
		return 0, nothingToUndo(t, fmt.Sprintf("the last change was of %s, and not of %s", escape.Cell(last.Path), path))
	}
	now, err := countAt(t, obj, path)
	if err != nil {
		return 0, err
	}
	if now != *last.To || !setHere(obj, path) {
		return 0, changedSince(t, obj, path, last, now)
	}
	return *last.From, nil
}

// setHere reports whether this program was the last to change the count, and did so in the object. A managedFields
// entry with a subresource records a change through /scale. If another user changes the count and then changes it
// back, the number is the same, but the field has another manager.
func setHere(obj *unstructured.Unstructured, path fieldpath.Path) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == kinds.FieldManager && entry.Subresource == "" && path.ManagedBy(entry, obj.Object)
	})
}

func nothingToUndo(t observe.Target, why string) error {
	err := fmt.Errorf("%w: cannot return to the last count of %s: %s", outcome.ErrPrecondition, t, why)
	return outcome.WithHint(err, "to set a count", scaleTo(t, "COUNT"))
}

// changedSince returns the error for a count that was set after the recorded change. The hint restores the old count.
func changedSince(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path, last lastScale, now int32) error {
	by := edit.Writer(obj, path, "this program, without recording the count before,")
	back := scaleTo(t, strconv.Itoa(int(*last.From))).With("--current-replicas", strconv.Itoa(int(now)))
	if kind := t.Kind.Path(); kind == nil || kind.String() != path.String() {
		back = back.With("--replicas-path", path.String())
	}
	err := fmt.Errorf("%w: %s was scaled from %d to %d, and %s has set it since; it is %d now", outcome.ErrOverwritten, t, *last.From, *last.To, by, now)
	return outcome.WithHint(err, "to set it back all the same", back)
}

func scaleTo(t observe.Target, count string) commandline.Command {
	return commandline.Plugin("scale", t.Kind.CRD()+"/"+t.Name).In(t.Namespace).With("--replicas", count)
}
