// Package edit changes fields of one object. A write fails and is retried if the object has changed
// since it was read. A change can be checked and reverted later.
package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Plan is a change of one object.
type Plan struct {
	// Edits are the changes of fields. If there are none, nothing is written.
	Edits []fieldpath.Edit
	// Marks are additional edits, such as an annotation with the cause. A change stays valid if a user overwrites them.
	Marks []fieldpath.Edit
}

// Options configure how a change is sent.
type Options struct {
	FieldManager string
	// DryRun is the dryRun option of the request.
	DryRun []string
	// Local means that only a copy of the object is changed, and nothing is written.
	Local bool
}

const maxTries = 10

// Retry calls change until it returns no conflict, at most maxTries times. If ctx is done, Retry returns
// the cause of ctx instead of the last conflict, unlike client-go.
func Retry(ctx context.Context, change func() error) error {
	backoff := retry.DefaultRetry
	backoff.Steps = maxTries
	err := retry.OnError(backoff, isConflict, change)
	if cause := context.Cause(ctx); cause != nil && isConflict(err) {
		return cause
	}
	return err
}

// isConflict reports whether a write failed because its object has changed since it was read. The server
// applies a JSON patch before it compares the resource versions. If a field that the patch removes no longer
// exists, the error is Invalid, and names no kind and no cause. An error about an unknown field names a cause.
func isConflict(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	var answer apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Kind == "" && len(details.Causes) == 0
}

// Apply makes the change that plan returns for an object. If the object has changed since it was passed to plan, the
// write fails, and Apply reads the object and calls plan again. seen is the object from an earlier read, or nil.
func Apply(ctx context.Context, objects dynamic.ResourceInterface, name string, seen *unstructured.Unstructured, plan func(*unstructured.Unstructured) (Plan, error), o Options) (Written, error) {
	var w Written
	err := Retry(ctx, func() error {
		obj := seen
		seen = nil
		if obj == nil {
			var err error
			if obj, err = objects.Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		p, err := plan(obj)
		if err != nil {
			return err
		}
		w, err = send(ctx, objects, obj, p, o)
		return err
	})
	return w, err
}

func send(ctx context.Context, objects dynamic.ResourceInterface, obj *unstructured.Unstructured, p Plan, o Options) (Written, error) {
	w := Written{Object: obj}
	if len(p.Edits) == 0 {
		return w, nil
	}
	edits := append(slices.Clip(p.Edits), p.Marks...)
	if o.Local {
		w.Object = obj.DeepCopy()
		for _, e := range edits {
			if err := e.Apply(w.Object.Object); err != nil {
				return w, fmt.Errorf("change %s: %w", obj.GetName(), err)
			}
		}
		return w, w.record(obj, p.Edits)
	}
	patch, err := fieldpath.Patch(obj.Object, edits...)
	if err != nil {
		return w, fmt.Errorf("change %s: %w", obj.GetName(), err)
	}
	after, err := objects.Patch(ctx, obj.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{
		FieldManager: o.FieldManager, DryRun: o.DryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return w, err
	}
	w.Object = after
	return w, w.record(obj, p.Edits)
}

// record adds the edited fields to w, with their values before and after the write. It returns an error if
// w.Object is another object, if a field that the write changes still has its old value, or if an integer
// differs from the written value. Other values may differ, because a webhook may complete a pod template.
func (w *Written) record(before *unstructured.Unstructured, edits []fieldpath.Edit) error {
	if before.GetUID() != w.Object.GetUID() {
		return fmt.Errorf("%w: the server answered the change of %s with another object", outcome.ErrUnknown, before.GetName())
	}
	for _, e := range edits {
		f := Field{Path: e.Path}
		var err error
		if f.Before, err = e.Path.Value(before.Object); err != nil {
			return err
		}
		f.After, err = e.Path.Value(w.Object.Object)
		_, count := e.Value.(int64)
		switch {
		case count && !same(e.Value, f.After), !same(f.Before, e.Value) && (err != nil || same(f.Before, f.After)):
			return fmt.Errorf("change %s: %w", before.GetName(), &OverwrittenError{Path: e.Path, Wrote: e.Value, Now: f.After, By: "the server"})
		case err != nil:
			return err
		}
		for parent := e.Path.Parent(); len(parent.Steps) > 0; parent = parent.Parent() {
			if there, err := parent.Value(before.Object); err != nil || there != nil {
				break
			}
			f.parents = append(f.parents, parent)
		}
		w.Fields = append(w.Fields, f)
	}
	return nil
}

// ErrAnother means that the changed object is gone, and another object has its name.
var ErrAnother = errors.New("another object has its name now")

// Revert restores the values that the fields had before a write. Later changes of other fields are kept. If
// another user has changed the written fields, nothing is written, and the error is an OverwrittenError.
func Revert(ctx context.Context, objects dynamic.ResourceInterface, w Written, marks []fieldpath.Edit, o Options) (Written, error) {
	return Apply(ctx, objects, w.Object.GetName(), nil, func(obj *unstructured.Unstructured) (Plan, error) {
		if obj.GetUID() != w.Object.GetUID() {
			return Plan{}, ErrAnother
		}
		edits, err := w.reverse(obj)
		return Plan{Edits: edits, Marks: marks}, err
	}, o)
}

// Delete deletes a created object, or returns an OverwrittenError if another user has changed the created fields.
func Delete(ctx context.Context, objects dynamic.ResourceInterface, w Written) error {
	return Retry(ctx, func() error {
		obj, err := objects.Get(ctx, w.Object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if obj.GetUID() != w.Object.GetUID() {
			return ErrAnother
		}
		if err := w.Check(obj); err != nil {
			return err
		}
		return objects.Delete(ctx, obj.GetName(), metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())},
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
	})
}
