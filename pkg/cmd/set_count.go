package cmd

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// attempts is how often a change that lost a race is computed again.
const attempts = 5

// change is a new count and the conditions on which it is set.
type change struct {
	replicas        int32
	current         int32
	resourceVersion string
	dryRun          []string
}

// setCount sets the count of one object in the field that was found, and
// returns the resourceVersion that the object has then.
func setCount(ctx context.Context, objects dynamic.ResourceInterface, t target, field replica.Field, c change) (string, error) {
	for attempt := 1; ; attempt++ {
		var version string
		var err error
		if field.Scale {
			version, err = setScale(ctx, objects, t, field, c)
		} else {
			version, err = patchField(ctx, objects, t, *field.Path, c)
		}
		// A conflict means that somebody changed the object between the look and
		// the change: both are done again. A version that was asked for stays.
		if !apierrors.IsConflict(err) || c.resourceVersion != "" || attempt == attempts {
			return version, err
		}
	}
}

// setScale sets the count through /scale: one request, or two with
// --current-replicas, which pins the version that was looked at.
func setScale(ctx context.Context, objects dynamic.ResourceInterface, t target, field replica.Field, c change) (string, error) {
	if c.current != noCurrent {
		scale, err := replica.GetScale(ctx, objects, t.name)
		if apierrors.IsInternalError(err) && absent(ctx, objects, t, field) {
			return "", c.notSet(t, field)
		}
		if err != nil {
			return "", err
		}
		if err := c.checkCurrent(t, int64(scale.Spec.Replicas)); err != nil {
			return "", err
		}
		if c.resourceVersion == "" {
			c.resourceVersion = scale.ResourceVersion
		}
	}
	scale, err := replica.SetScale(ctx, objects, t.name, c.replicas, c.resourceVersion, c.dryRun)
	if err != nil {
		return "", err
	}
	return scale.ResourceVersion, nil
}

// patchField sets the count in the object itself: a look, and a JSON patch that
// goes through only if the object is still as it was then.
func patchField(ctx context.Context, objects dynamic.ResourceInterface, t target, path replica.Path, c change) (string, error) {
	obj, err := objects.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if c.resourceVersion != "" && obj.GetResourceVersion() != c.resourceVersion {
		return "", fmt.Errorf("%w: expected the resource version of %s to be %s, was %s", ErrPrecondition, t, c.resourceVersion, obj.GetResourceVersion())
	}
	now, found, err := path.Get(obj.Object)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t, err)
	}
	if c.current != noCurrent {
		if !found {
			return "", c.notSet(t, replica.Field{Path: &path})
		}
		if err := c.checkCurrent(t, now); err != nil {
			return "", err
		}
	}
	patch, err := path.Patch(obj.Object, int64(c.replicas))
	if err != nil {
		return "", fmt.Errorf("%s: %w", t, err)
	}
	changed, err := objects.Patch(ctx, t.name, types.JSONPatchType, patch, metav1.PatchOptions{
		FieldManager: replica.FieldManager, DryRun: c.dryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return "", err
	}
	return changed.GetResourceVersion(), nil
}

// absent says whether the count behind /scale is not set: then the server cannot
// show a scale, and answers with an internal error.
func absent(ctx context.Context, objects dynamic.ResourceInterface, t target, field replica.Field) bool {
	if field.Path == nil {
		return false
	}
	obj, err := objects.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	_, found, err := field.Path.Get(obj.Object)
	return err == nil && !found
}

func (c change) notSet(t target, field replica.Field) error {
	return fmt.Errorf("%w: expected the replicas of %s to be %d, but %s is not set", ErrPrecondition, t, c.current, field)
}

func (c change) checkCurrent(t target, now int64) error {
	if now != int64(c.current) {
		return fmt.Errorf("%w: expected the replicas of %s to be %d, was %d", ErrPrecondition, t, c.current, now)
	}
	return nil
}
