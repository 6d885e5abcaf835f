package cmd

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replicafield"
)

// attempts is how often a change that lost a race is computed again.
const attempts = 10

// change is a new count and the conditions on which it is set.
type change struct {
	replicas int32
	// by, where it is given, leads to the new count from the present one.
	by              *replicafield.CountChange
	current         int32
	resourceVersion string
	dryRun          []string
}

// written is what a change came to: the count, and the object that has it.
type written struct {
	replicas        int32
	uid             types.UID
	resourceVersion string
}

// setCount sets the count of one object in the field that was found.
func setCount(ctx context.Context, objects dynamic.ResourceInterface, t target, field discover.Field, c change) (written, error) {
	for attempt := 1; ; attempt++ {
		var done written
		var err error
		if field.Scale {
			done, err = setScale(ctx, objects, t, field, c)
			if apierrors.IsNotFound(err) && t.kind.Shipped() && isThere(ctx, objects, t) {
				// The CRD is not the one that this program installs, and has no /scale.
				field.Scale = false
				continue
			}
		} else {
			done, err = patchField(ctx, objects, t, *field.Path, c)
		}
		// A conflict means that somebody changed the object between the look and
		// the change: both are done again. A version that was asked for stays.
		if !apierrors.IsConflict(err) || c.resourceVersion != "" || attempt == attempts {
			return done, err
		}
	}
}

// setScale sets the count through /scale: one request, or two where the present
// count matters, which pins the version that was looked at.
func setScale(ctx context.Context, objects dynamic.ResourceInterface, t target, field discover.Field, c change) (written, error) {
	if c.looks() {
		scale, err := discover.GetScale(ctx, objects, t.name)
		if apierrors.IsInternalError(err) && absent(ctx, objects, t, field) {
			return written{}, c.notSet(t, field)
		}
		if err != nil {
			return written{}, err
		}
		if c.replicas, err = c.from(t, int64(scale.Spec.Replicas)); err != nil {
			return written{}, err
		}
		if c.resourceVersion == "" {
			c.resourceVersion = scale.ResourceVersion
		}
	}
	scale, err := discover.SetScale(ctx, objects, t.name, c.replicas, c.resourceVersion, c.dryRun)
	if err != nil {
		return written{}, err
	}
	return written{c.replicas, scale.UID, scale.ResourceVersion}, nil
}

// isThere reports whether the object can be read. The server says of an object that
// is not there and of a subresource that is not there the same.
func isThere(ctx context.Context, objects dynamic.ResourceInterface, t target) bool {
	_, err := objects.Get(ctx, t.name, metav1.GetOptions{})
	return err == nil
}

// patchField sets the count in the object itself: a look, and a JSON patch that
// goes through only if the object is still as it was then.
func patchField(ctx context.Context, objects dynamic.ResourceInterface, t target, path fieldpath.Path, c change) (written, error) {
	obj, err := objects.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return written{}, err
	}
	if c.resourceVersion != "" && obj.GetResourceVersion() != c.resourceVersion {
		return written{}, fmt.Errorf("%w: expected the resource version of %s to be %s, was %s", ErrPrecondition, t, c.resourceVersion, obj.GetResourceVersion())
	}
	now, found, err := path.Get(obj.Object)
	if err != nil {
		return written{}, fmt.Errorf("%s: %w", t, err)
	}
	if c.looks() && !found {
		return written{}, c.notSet(t, discover.Field{Path: &path})
	}
	if c.replicas, err = c.from(t, now); err != nil {
		return written{}, err
	}
	patch, err := path.Patch(obj.Object, int64(c.replicas))
	if err != nil {
		return written{}, fmt.Errorf("%s: %w", t, err)
	}
	changed, err := objects.Patch(ctx, t.name, types.JSONPatchType, patch, metav1.PatchOptions{
		FieldManager: kinds.FieldManager, DryRun: c.dryRun, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return written{}, err
	}
	return written{c.replicas, changed.GetUID(), changed.GetResourceVersion()}, nil
}

// absent reports whether the count behind /scale is not set: then the server cannot
// show a scale, and answers with an internal error.
func absent(ctx context.Context, objects dynamic.ResourceInterface, t target, field discover.Field) bool {
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

// looks reports whether the present count decides on the change.
func (c change) looks() bool { return c.current != noCurrent || c.by != nil }

// from is the count to set where there are so many now.
func (c change) from(t target, now int64) (int32, error) {
	if c.current != noCurrent && now != int64(c.current) {
		return 0, fmt.Errorf("%w: expected the replicas of %s to be %d, was %d", ErrPrecondition, t, c.current, now)
	}
	if c.by == nil {
		return c.replicas, nil
	}
	n, err := c.by.From(now)
	if err != nil {
		return 0, fmt.Errorf("%w: the replicas of %s: %w", ErrPrecondition, t, err)
	}
	return n, nil
}

func (c change) notSet(t target, field discover.Field) error {
	expected := fmt.Sprintf("to be %d", c.current)
	if c.by != nil {
		expected = "to be set"
	}
	return fmt.Errorf("%w: expected the replicas of %s %s, but %s is not set", ErrPrecondition, t, expected, field)
}

// stepFlag is the value of --by.
type stepFlag struct {
	step **replicafield.CountChange
}

// Set takes a value from the command line.
func (f stepFlag) Set(word string) error {
	step, err := replicafield.ParseCountChange(word)
	if err != nil {
		return err
	}
	*f.step = &step
	return nil
}

// String returns the value.
func (f stepFlag) String() string {
	if f.step == nil || *f.step == nil {
		return ""
	}
	return (*f.step).String()
}

// Type names the kind of value in help texts.
func (f stepFlag) Type() string { return "change" }
