package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/revision"
)

// attempts is how often a change that lost a race is computed again.
const attempts = 10

// Request is a change of the fields that the pods of an object are made from.
type Request struct {
	// Want computes the fields that are wanted from the object as it is, and the cause
	// of the change; "" is what changes, in words.
	Want func(obj *unstructured.Unstructured) (want []revision.Field, cause string, err error)
	// By is who makes the change; "" is not known.
	By           string
	FieldManager string
	// Client says that nothing is sent; DryRun is that of the request.
	Client bool
	DryRun []string
}

// Result is what a change did.
type Result struct {
	// Object is the object after the change.
	Object        *unstructured.Unstructured
	Before, After []revision.Field
	// Change says what changed; "": nothing did.
	Change string
}

// Write changes the fields of one object, and says in its annotations who did it and why.
// All else stays. The patch goes through only if the object is still as it was read. If
// somebody changed it in between, the change is computed again.
func Write(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, r Request) (Result, error) {
	obj := t.Object
	for attempt := 1; ; attempt++ {
		if obj == nil {
			var err error
			if obj, err = objects.Get(ctx, t.Name, metav1.GetOptions{}); err != nil {
				return Result{}, err
			}
		}
		done, err := writeOnce(ctx, objects, t, obj, r)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return done, err
		}
		obj = nil
	}
}

func writeOnce(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, obj *unstructured.Unstructured, r Request) (Result, error) {
	if obj.GetDeletionTimestamp() != nil {
		return Result{}, fmt.Errorf("%s is being deleted and cannot be changed", t)
	}
	want, cause, err := r.Want(obj)
	if err != nil {
		return Result{}, err
	}
	now, err := revision.FieldsAt(obj.Object, revision.Paths(want))
	if err != nil {
		return Result{}, err
	}
	done := Result{Object: obj, Before: now, After: want, Change: revision.Change(now, want)}
	if done.Change == "" {
		return done, nil
	}
	if cause == "" {
		cause = done.Change
	}
	edits := append(revision.Edits(now, want), Annotations(cause, r.By)...)
	if r.Client {
		done.Object = obj.DeepCopy()
		for _, e := range edits {
			if err := e.Apply(done.Object.Object); err != nil {
				return Result{}, err
			}
		}
		return done, nil
	}
	patch, err := fieldpath.Patch(obj.Object, edits...)
	if err != nil {
		return Result{}, err
	}
	done.Object, err = objects.Patch(ctx, t.Name, types.JSONPatchType, patch, metav1.PatchOptions{
		FieldManager: r.FieldManager, DryRun: r.DryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	return done, err
}

// Annotations are the edits that say who changed an object and why. Where the server does
// not tell who asks, the name of whoever changed it before must not stay.
func Annotations(cause, by string) []fieldpath.Edit {
	who := fieldpath.Edit{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationChangedBy)}
	if by != "" {
		who.Value = by
	}
	return []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationChangeCause), Value: cause}, who}
}
