package template

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// Wanted returns the fields that the current object should have.
type Wanted func(obj *unstructured.Unstructured) ([]revision.Field, error)

// Result is a completed change.
type Result struct {
	edit.Written
	// Before contains the fields before the change, and After contains the wanted fields.
	Before, After []revision.Field
	// Change describes the change, or is "" if nothing changed.
	Change string
}

// Write changes only the wanted fields of an object, and the annotations that record the author and the cause. The
// function cause gets a description of the change, and returns the cause. The author is "" if the user is unknown.
func Write(
	ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, wanted Wanted,
	cause func(change string) string, author string, o edit.Options,
) (Result, error) {
	var done Result
	var err error
	done.Written, err = edit.Apply(ctx, objects, t.Name, t.Object, func(obj *unstructured.Unstructured) (edit.Plan, error) {
		if obj.GetDeletionTimestamp() != nil {
			return edit.Plan{}, fmt.Errorf("%s is being deleted and cannot be changed", t)
		}
		want, err := wanted(obj)
		if err != nil {
			return edit.Plan{}, err
		}
		now, err := revision.FieldsAt(obj.Object, want)
		if err != nil {
			return edit.Plan{}, err
		}
		done = Result{Before: now, After: want, Change: revision.Change(now, want)}
		if done.Change == "" {
			return edit.Plan{}, nil
		}
		return edit.Plan{Edits: revision.Edits(now, want), Marks: Annotations(cause(done.Change), author)}, nil
	}, o)
	if err == nil && done.Change == "" {
		for _, f := range done.Before {
			done.Fields = append(done.Fields, edit.Field{Path: f.Path, Before: f.Value, After: f.Value})
		}
	}
	return done, err
}

// Annotations returns the edits that record the cause and the author of a change, or remove the author if by is "".
func Annotations(cause, by string) []fieldpath.Edit {
	return []fieldpath.Edit{
		fieldpath.Annotate(apis.AnnotationChangeCause, cause),
		fieldpath.Annotate(apis.AnnotationChangedBy, by),
	}
}
