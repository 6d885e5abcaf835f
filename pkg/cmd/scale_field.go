package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// located is an object, and the field of its count.
type located struct {
	target *observe.Target
	field  discover.Field
	// began is the count before the first of several steps, once that has begun.
	began *int32
}

// locate finds the field of the count of an object. It reads the object if that is necessary
// to find the field, to change the count, or to refuse an object that is being deleted. Users
// who may only set the count can do so.
func (o *scaleOptions) locate(ctx context.Context, c *changer, t *observe.Target) (*located, error) {
	err := o.count.Check(*t)
	if err != nil {
		return nil, err
	}
	t.Path = o.path
	if o.group != "" {
		if t.Path, err = o.groupPath(ctx, c, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	field, err := o.field(ctx, c, t)
	if err != nil {
		return nil, err
	}
	c.beginWarning(t)
	if field.Scale || o.change.dryRun.client() || o.count.Undo {
		if err := t.Read(ctx, c.finder.Dynamic); err != nil && (!apierrors.IsForbidden(err) || o.count.Undo) {
			return nil, err
		}
	}
	return &located{target: t, field: field}, replicas.Refuse(*t, t.Object)
}

// field finds the field of the count of a target, and reads the target if necessary. For an
// ImoocPod, it sends no request.
func (o *scaleOptions) field(ctx context.Context, c *changer, t *observe.Target) (discover.Field, error) {
	if !t.Kind.Shipped() && t.Path == nil {
		// The values tell apart the fields that may be meant.
		if err := t.Read(ctx, c.finder.Dynamic); err != nil {
			return discover.Field{}, err
		}
	}
	field, err := c.finder.Find(ctx, t.Kind, t.Object, t.Path)
	if none := (*discover.NoCountError)(nil); errors.As(err, &none) {
		return field, perNode(ctx, c, t)
	}
	return field, c.chooseField(err, "scale", t, o.countFlags()...)
}

// groupPath reads the target, and finds the count of the group that --group names.
func (o *scaleOptions) groupPath(ctx context.Context, c *changer, t *observe.Target) (*fieldpath.Path, error) {
	if err := t.Read(ctx, c.finder.Dynamic); err != nil {
		return nil, err
	}
	schema, err := c.finder.Schema(t.Kind)
	if err != nil {
		return nil, err
	}
	path, err := candidates.Group(candidates.Fields(schema, t.Object.Object), o.group)
	return &path, err
}

// countFlags returns the flag that gives the count, as it was given.
func (o *scaleOptions) countFlags() []string {
	switch {
	case o.count.By != nil:
		return []string{"--by", o.count.By.String()}
	case o.count.Undo:
		return []string{"--undo"}
	}
	return []string{"--replicas", strconv.Itoa(int(o.count.Replicas))}
}

// perNode refuses to scale an object that runs one pod per node, and says how many these are.
func perNode(ctx context.Context, c *changer, t *observe.Target) error {
	obj, err := t.Resource(c.finder.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := ""
	if n, found, err := unstructured.NestedInt64(obj.Object, t.Kind.Mapping.Status.Desired...); err == nil && found {
		now = fmt.Sprintf(" (%d now)", n)
	}
	return fmt.Errorf("%s cannot be scaled: it runs one pod per node%s", t, now)
}

// otherCounts names the other counts of an object whose count is not one of pods, or is one
// of several. It returns "" if there are none, or if they cannot be known.
func otherCounts(ctx context.Context, c *changer, t *observe.Target, field discover.Field) string {
	if t.Object == nil {
		return ""
	}
	known, err := observe.StatusFacts(ctx, c.finder, t.Kind, field.Path)
	if err != nil {
		return ""
	}
	read, err := facts.Read(t.Kind, t.Object, known)
	if err != nil || len(read.Beside) == 0 {
		return ""
	}
	var words []string
	for _, b := range read.Beside {
		words = append(words, fmt.Sprintf("%s = %d", b.Path, b.Value))
	}
	if read.Unit != "" {
		return fmt.Sprintf(", counted in %ss, each with %s", read.Unit, strings.Join(words, ", "))
	}
	return "; other counts: " + strings.Join(words, ", ")
}
