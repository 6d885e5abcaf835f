// Package replicas writes the replica count of one object, through /scale or in its field. If the new
// count depends on the current count, the write fails if the object has changed since it was read.
package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// AnyCount is the value of Request.Current that accepts any current count.
const AnyCount = -1

// Request is a new count with its preconditions.
type Request struct {
	Replicas int32
	// By, if set, computes the new count from the current count.
	By *candidates.CountChange
	// Remove names the pods to delete. The new count is lower by their number.
	Remove []string
	// Reuse lets new pods fill removed slots.
	Reuse bool
	// Undo restores the count before the last change that this program recorded.
	Undo bool
	// Began is the count that an undo restores after this change, if the change is one step of several.
	// If it is nil, an undo restores the count directly before this change.
	Began           *int32
	Current         int32
	ResourceVersion string
	// UID, if set, is the required UID of the object.
	UID types.UID
	// Exact makes the write replace exactly the count in Result.Before, because a revert may restore it.
	Exact bool
	edit.Options
}

// Result describes a change of the count of one object.
type Result struct {
	// Before is the count before the change, or nil if it is unknown.
	Before   *int32
	Replicas int32
	UID      types.UID
	// Note describes other changes, such as "removing foo-f4e4e66e-1".
	Note string
	// Written contains the object and the written fields. If the count was set through /scale, Object is nil,
	// and Fields is empty if the replica field is unknown.
	edit.Written
}

// String describes the change, such as "3 → 5".
func (r Result) String() string {
	text := fmt.Sprintf("set to %d", r.Replicas)
	if r.Before != nil {
		text = fmt.Sprintf("%d → %d", *r.Before, r.Replicas)
	}
	if r.Note != "" {
		text += ", " + r.Note
	}
	return text
}

// Before returns the count in a field. It returns nil if obj or path is nil, or if the field has no 32-bit integer.
func Before(obj *unstructured.Unstructured, path *fieldpath.Path) *int32 {
	if obj == nil || path == nil {
		return nil
	}
	n, found, err := path.Get(obj.Object)
	if err != nil || !found || n < math.MinInt32 || n > math.MaxInt32 {
		return nil
	}
	return new(int32(n))
}

// Refuse returns an error if an object is being deleted and therefore cannot be scaled.
func Refuse(t observe.Target, obj *unstructured.Unstructured) error {
	if obj == nil || obj.GetDeletionTimestamp() == nil {
		return nil
	}
	return fmt.Errorf("%s is being deleted and cannot be scaled", t)
}

// Set sets the count of one object, through /scale or in the object. field determines which of these is possible.
func Set(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, r Request) (Result, error) {
	if r.Local && field.Path != nil {
		field.Scale = false
	}
	switch {
	case r.Reuse:
		return setField(ctx, objects, t, *t.Kind.Path(), r, reuseSlots(t))
	case r.Undo && field.Path == nil:
		return Result{}, nothingToUndo(t, "the field of its count is not known")
	case r.Undo || t.Kind.Reconciled() && t.Object != nil && field.Path != nil:
		// Patch the object, so that an annotation can record the count before the change.
		done, err := setField(ctx, objects, t, *field.Path, r, nil)
		if r.Undo || !field.Scale || !apierrors.IsForbidden(err) {
			return done, err
		}
		// Without permission to patch the object, scale it without recording the count.
	}
	if field.Scale {
		var done Result
		set := func() (err error) {
			done, err = setScale(ctx, objects, t, field, r)
			return err
		}
		var err error
		if r.ResourceVersion == "" {
			err = edit.Retry(ctx, set)
		} else {
			err = set()
		}
		if !apierrors.IsNotFound(err) || !t.Kind.Shipped() {
			return done, err
		}
		// The server returns NotFound for both a missing object and a missing subresource.
		if _, missing := objects.Get(ctx, t.Name, metav1.GetOptions{}); missing != nil {
			return done, err
		}
		// The CRD was not installed by this program, and has no /scale.
	}
	return setField(ctx, objects, t, *field.Path, r, nil)
}

// Revert undoes a change of the count. If the count has changed since, the error is an outcome.ErrOverwritten, or
// an outcome.ErrPrecondition if done does not contain the replica field.
func Revert(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, done Result, o edit.Options) error {
	if done.Object != nil {
		var forget []fieldpath.Edit // the record describes the failed change
		if t.Kind.Reconciled() {
			forget = []fieldpath.Edit{fieldpath.Annotate(apis.AnnotationLastScale, "")}
		}
		_, err := edit.Revert(ctx, objects, done.Written, forget, o)
		return err
	}
	_, err := Set(ctx, objects, t, field, Request{Replicas: *done.Before, Current: done.Replicas, UID: done.UID, Options: o})
	if errors.Is(err, outcome.ErrPrecondition) {
		if obj, readErr := objects.Get(ctx, t.Name, metav1.GetOptions{}); readErr == nil {
			return cmp.Or(done.Check(obj), err)
		}
	}
	return err
}

// setScale sets the count through /scale. If the request or its revert depends on the current count, the
// write fails if the object has changed since it was read.
func setScale(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, r Request) (Result, error) {
	before, version := Before(t.Object, field.Path), ""
	switch {
	case r.ReadsCount(), r.Exact && field.Path == nil:
		scale, err := readScale(ctx, objects, t, field, r)
		if err != nil {
			return Result{}, err
		}
		if r.UID != "" && scale.UID != r.UID {
			return Result{}, edit.ErrAnother
		}
		if r.Replicas, err = r.From(t, int64(scale.Spec.Replicas)); err != nil {
			return Result{}, err
		}
		before, version = &scale.Spec.Replicas, scale.ResourceVersion
	case r.Exact:
		obj, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
		if err != nil {
			return Result{}, err
		}
		if before, version = Before(obj, field.Path), obj.GetResourceVersion(); before == nil {
			return Result{}, r.NotSet(t, field)
		}
	}
	if r.Local {
		return Result{Before: before, Replicas: r.Replicas}, nil // the field that /scale sets is unknown
	}
	scale, err := discover.SetScale(ctx, objects, t.Name, r.Replicas, cmp.Or(r.ResourceVersion, version), r.DryRun)
	if err != nil {
		return Result{}, err
	}
	if now := scale.Spec.Replicas; now != r.Replicas {
		at := cmp.Or(field.Path, new(specReplicas()))
		return Result{}, fmt.Errorf("%s: %w", t, &edit.OverwrittenError{Path: *at, Wrote: r.Replicas, Now: now, By: "the server"})
	}
	done := Result{Before: before, Replicas: r.Replicas, UID: scale.UID}
	if field.Path != nil {
		done.Fields = []edit.Field{{Path: *field.Path, After: int64(r.Replicas)}}
	}
	return done, nil
}

func readScale(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, r Request) (*autoscalingv1.Scale, error) {
	scale, err := discover.GetScale(ctx, objects, t.Name)
	if apierrors.IsInternalError(err) && field.Path != nil {
		// The server returns this error for /scale if the count is not set.
		if obj, readErr := objects.Get(ctx, t.Name, metav1.GetOptions{}); readErr == nil {
			if _, unset := countAt(t, obj, *field.Path); errors.Is(unset, outcome.ErrPrecondition) {
				return nil, r.NotSet(t, field)
			}
		}
	}
	return scale, err
}

// Count returns the current count of an object. If the replica field is known but not set, the error is
// an outcome.ErrPrecondition.
func Count(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field) (int32, error) {
	r := Request{Current: AnyCount}
	if field.Scale {
		scale, err := readScale(ctx, objects, t, field, r)
		if err == nil {
			return scale.Spec.Replicas, nil
		}
		if !apierrors.IsNotFound(err) || !t.Kind.Shipped() {
			return 0, err
		}
		// The CRD might have no /scale if this program did not install it.
	}
	obj, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	return countAt(t, obj, *field.Path)
}

// beside adds edits to the plan that sets a count, and returns a note about them.
type beside func(obj *unstructured.Unstructured, after int32, p *edit.Plan) (note string, err error)

// setField sets the count in the object. The function with may be nil.
func setField(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, path fieldpath.Path, r Request, with beside) (Result, error) {
	seen := t.Object
	if r.Reuse || r.ReadsCount() {
		seen = nil
	}
	var done Result
	w, err := edit.Apply(ctx, objects, t.Name, seen, func(obj *unstructured.Unstructured) (p edit.Plan, err error) {
		if err := r.admits(t, obj); err != nil {
			return p, err
		}
		to := r
		if to.Replicas, err = r.wanted(t, obj, path); err != nil {
			return p, err
		}
		done = Result{Before: Before(obj, &path), Replicas: to.Replicas}
		p.Edits = []fieldpath.Edit{{Path: path, Value: int64(to.Replicas)}}
		p.Marks = remember(t, obj, path, to)
		if with != nil {
			done.Note, err = with(obj, to.Replicas, &p)
		}
		return p, err
	}, r.Options)
	if err != nil {
		return Result{}, err
	}
	done.Written, done.UID = w, w.Object.GetUID()
	return done, nil
}

func (r Request) wanted(t observe.Target, obj *unstructured.Unstructured, path fieldpath.Path) (int32, error) {
	now, found, err := path.Get(obj.Object)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", t, err)
	}
	if r.ReadsCount() && !found {
		return 0, r.NotSet(t, discover.Field{Path: &path})
	}
	if r.Undo {
		if r.Replicas, err = Undone(t, obj, path); err != nil {
			return 0, err
		}
	}
	return r.From(t, now)
}

// admits returns an error if the object is being deleted, or lacks the UID or the version that the request requires.
func (r Request) admits(t observe.Target, obj *unstructured.Unstructured) error {
	if err := Refuse(t, obj); err != nil {
		return err
	}
	if r.UID != "" && obj.GetUID() != r.UID {
		return edit.ErrAnother
	}
	if r.ResourceVersion != "" && obj.GetResourceVersion() != r.ResourceVersion {
		return fmt.Errorf("%w: expected the resource version of %s to be %s, was %s", outcome.ErrPrecondition, t, r.ResourceVersion, obj.GetResourceVersion())
	}
	return nil
}

// ReadsCount reports whether Current, By, or Remove makes the request depend on the current count.
func (r Request) ReadsCount() bool { return r.Current != AnyCount || r.By != nil || len(r.Remove) > 0 }

// From returns the new count for a current count. It returns an error if the request does not allow the current count.
func (r Request) From(t observe.Target, now int64) (int32, error) {
	if r.Current != AnyCount && now != int64(r.Current) {
		return 0, fmt.Errorf("%w: expected the replicas of %s to be %d, was %d", outcome.ErrPrecondition, t, r.Current, now)
	}
	if gone := int64(len(r.Remove)); gone > 0 {
		if now < gone || now > math.MaxInt32 {
			return 0, fmt.Errorf("%w: cannot remove %s from %s: its count is %d", outcome.ErrPrecondition, problem.Quantity(len(r.Remove), "pod"), t, now)
		}
		return int32(now - gone), nil //nolint:gosec // from 0 to MaxInt32
	}
	if r.By == nil {
		return r.Replicas, nil
	}
	n, err := r.By.From(now)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", outcome.ErrPrecondition, t, err)
	}
	return n, nil
}

// NotSet returns the error for a request that depends on the current count if the object has no count.
func (r Request) NotSet(t observe.Target, field discover.Field) error {
	expected := fmt.Sprintf("to be %d", r.Current)
	if r.By != nil || r.Current == AnyCount {
		expected = "to be set"
	}
	return fmt.Errorf("%w: expected the replicas of %s %s, but %s is not set", outcome.ErrPrecondition, t, expected, field)
}
