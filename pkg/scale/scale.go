// Package scale sets the replica count of one object: in one request where nothing
// has to be known before, guarded by the version that was read otherwise.
package scale

import (
	"context"
	"fmt"
	"math"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replicafield"
)

// attempts is how often a change that lost a race is computed again.
const attempts = 10

// AnyCount is the present count of a change that asks for none.
const AnyCount = -1

// Request is a new count and the conditions on which it is set.
type Request struct {
	Replicas int32
	// By, where it is given, leads to the new count from the present one.
	By              *replicafield.CountChange
	Current         int32
	ResourceVersion string
	DryRun          []string
}

// Result is the new count, and the object that has it.
type Result struct {
	// Before is the count before the change, nil where that is not known.
	Before          *int32
	Replicas        int32
	UID             types.UID
	ResourceVersion string
}

// String says what the change did, such as "3 → 5".
func (r Result) String() string {
	if r.Before == nil {
		return fmt.Sprintf("set to %d", r.Replicas)
	}
	return fmt.Sprintf("%d → %d", *r.Before, r.Replicas)
}

// Before is the count that an object has in a field: nil where the field is not known
// or has no count.
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

// Refuse reports that an object cannot be scaled because it is being deleted.
func Refuse(t observe.Target, obj *unstructured.Unstructured) error {
	if obj == nil || obj.GetDeletionTimestamp() == nil {
		return nil
	}
	return fmt.Errorf("%s is being deleted and cannot be scaled", t)
}

// Set sets the count of one object in the field that was found.
func Set(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, c Request) (Result, error) {
	for attempt := 1; ; attempt++ {
		var done Result
		var err error
		if field.Scale {
			done, err = setScale(ctx, objects, t, field, c)
			if apierrors.IsNotFound(err) && t.Kind.Shipped() && exists(ctx, objects, t) {
				// The CRD is not the one that this program installs, and has no /scale.
				field.Scale = false
				continue
			}
		} else {
			done, err = patchField(ctx, objects, t, *field.Path, c)
		}
		// A conflict means that somebody changed the object between the look and
		// the change: both are done again. A version that was asked for stays.
		if !apierrors.IsConflict(err) || c.ResourceVersion != "" || attempt == attempts {
			return done, err
		}
	}
}

// setScale sets the count through /scale. Where the present count matters, the
// change is made only to the version that was read.
func setScale(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field, c Request) (Result, error) {
	before := Before(t.Object, field.Path)
	if c.ReadsCount() {
		scale, err := discover.GetScale(ctx, objects, t.Name)
		if apierrors.IsInternalError(err) && absent(ctx, objects, t, field) {
			return Result{}, c.NotSet(t, field)
		}
		if err != nil {
			return Result{}, err
		}
		if c.Replicas, err = c.From(t, int64(scale.Spec.Replicas)); err != nil {
			return Result{}, err
		}
		before = &scale.Spec.Replicas
		if c.ResourceVersion == "" {
			c.ResourceVersion = scale.ResourceVersion
		}
	}
	scale, err := discover.SetScale(ctx, objects, t.Name, c.Replicas, c.ResourceVersion, c.DryRun)
	if err != nil {
		return Result{}, err
	}
	return Result{before, c.Replicas, scale.UID, scale.ResourceVersion}, nil
}

// exists reports whether the object can be read. The server says of an object that
// is not there and of a subresource that is not there the same.
func exists(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target) bool {
	_, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
	return err == nil
}

// patchField sets the count in the object itself: a look, and a JSON patch that
// goes through only if the object is still as it was then.
func patchField(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, path fieldpath.Path, c Request) (Result, error) {
	obj, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return Result{}, err
	}
	if err := Refuse(t, obj); err != nil {
		return Result{}, err
	}
	if c.ResourceVersion != "" && obj.GetResourceVersion() != c.ResourceVersion {
		return Result{}, fmt.Errorf("%w: expected the resource version of %s to be %s, was %s", outcome.ErrPrecondition, t, c.ResourceVersion, obj.GetResourceVersion())
	}
	now, found, err := path.Get(obj.Object)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", t, err)
	}
	if c.ReadsCount() && !found {
		return Result{}, c.NotSet(t, discover.Field{Path: &path})
	}
	if c.Replicas, err = c.From(t, now); err != nil {
		return Result{}, err
	}
	patch, err := path.Patch(obj.Object, int64(c.Replicas))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", t, err)
	}
	changed, err := objects.Patch(ctx, t.Name, types.JSONPatchType, patch, metav1.PatchOptions{
		FieldManager: kinds.FieldManager, DryRun: c.DryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Before(obj, &path), c.Replicas, changed.GetUID(), changed.GetResourceVersion()}, nil
}

// absent reports whether the count behind /scale is not set: then the server cannot
// show a scale, and answers with an internal error.
func absent(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, field discover.Field) bool {
	if field.Path == nil {
		return false
	}
	obj, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	_, found, err := field.Path.Get(obj.Object)
	return err == nil && !found
}

// ReadsCount reports whether the present count decides on the change.
func (c Request) ReadsCount() bool { return c.Current != AnyCount || c.By != nil }

// From is the count to set where there are so many now.
func (c Request) From(t observe.Target, now int64) (int32, error) {
	if c.Current != AnyCount && now != int64(c.Current) {
		return 0, fmt.Errorf("%w: expected the replicas of %s to be %d, was %d", outcome.ErrPrecondition, t, c.Current, now)
	}
	if c.By == nil {
		return c.Replicas, nil
	}
	n, err := c.By.From(now)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", outcome.ErrPrecondition, t, err)
	}
	return n, nil
}

// NotSet is the error for a request that compares a count where none is set.
func (c Request) NotSet(t observe.Target, field discover.Field) error {
	expected := fmt.Sprintf("to be %d", c.Current)
	if c.By != nil {
		expected = "to be set"
	}
	return fmt.Errorf("%w: expected the replicas of %s %s, but %s is not set", outcome.ErrPrecondition, t, expected, field)
}
