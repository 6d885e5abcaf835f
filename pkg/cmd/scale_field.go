package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/replicafield"
)

// located is an object, and where its count is.
type located struct {
	target observe.Target
	field  discover.Field
	// began is the count before the first of several steps, once that has begun.
	began *int32
}

// locate finds out where the count of an object is, and reads the object if need be.
func (o *scaleOptions) locate(ctx context.Context, t observe.Target) (located, error) {
	if err := o.change.Check(t); err != nil {
		return located{}, err
	}
	path := o.path
	if o.group != "" {
		var err error
		if path, err = o.groupPath(ctx, &t); err != nil {
			return located{}, fmt.Errorf("%s: %w", t, err)
		}
	}
	field, err := o.field(ctx, &t, path)
	if err != nil {
		return located{}, err
	}
	t.Path = path
	if !o.after.wait {
		o.loops.begin(ctx, t)
	}
	err = o.look(ctx, &t, field)
	return located{target: t, field: field}, err
}

// field finds where the count of a target lives, and reads the target if need be. For an
// ImoocPod nothing is asked.
func (o *scaleOptions) field(ctx context.Context, t *observe.Target, path *fieldpath.Path) (discover.Field, error) {
	if !t.Kind.Shipped() && path == nil {
		// Its values tell the fields apart that could be meant.
		if err := t.Read(ctx, o.finder.Dynamic); err != nil {
			return discover.Field{}, err
		}
	}
	field, err := o.finder.Find(ctx, t.Kind, t.Object, path)
	var unknown *discover.UnknownFieldError
	var none *discover.NoCountError
	switch {
	case errors.As(err, &unknown):
		return field, &chooseFieldError{verb: "scale", target: *t, count: o.count(), commands: o.clients.CommandContext(), Err: unknown}
	case errors.As(err, &none):
		return field, o.perNode(ctx, *t)
	}
	return field, err
}

// groupPath reads the target, and finds the count of the group that --group names.
func (o *scaleOptions) groupPath(ctx context.Context, t *observe.Target) (*fieldpath.Path, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return nil, err
	}
	schema, err := o.finder.Schema(t.Kind)
	if err != nil {
		return nil, err
	}
	path, err := replicafield.Group(replicafield.Candidates(schema, t.Object.Object), o.group)
	return &path, err
}

// perNode refuses to scale an object that runs one pod per node, and says how
// many these are.
func (o *scaleOptions) perNode(ctx context.Context, t observe.Target) error {
	obj, err := t.Resource(o.finder.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := ""
	if n, found, err := unstructured.NestedInt64(obj.Object, t.Kind.Mapping.Status.Desired...); err == nil && found {
		now = fmt.Sprintf(" (%d now)", n)
	}
	return fmt.Errorf("%s cannot be scaled: it runs one pod per node%s", t, now)
}

// beside names the other counts of an object whose count is not of pods, or is
// one of several: nothing where there is none, or where that cannot be known.
func (o *scaleOptions) beside(ctx context.Context, t observe.Target, field discover.Field) string {
	if t.Object == nil {
		return ""
	}
	known, err := observe.StatusFacts(ctx, o.finder, t.Kind, field.Path)
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

// count is the flag that says the count, as it was given.
func (o *scaleOptions) count() string {
	switch {
	case o.change.By != nil:
		return "--by " + o.change.By.String()
	case o.change.Undo:
		return "--undo"
	}
	return fmt.Sprintf("--replicas %d", o.change.Replicas)
}
