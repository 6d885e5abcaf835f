package cmd

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// result is the object to print. Its name needs no request; the formats that
// show more of it read it.
func (o *scaleOptions) result(ctx context.Context, c located, done *replicas.Result) (*unstructured.Unstructured, error) {
	t := c.target
	format := *o.print.OutputFormat
	if (format == "" || format == "name") && !o.dryRun.client() {
		return nameOnly(t), nil
	}
	if done.Object != nil {
		return done.Object, nil
	}
	obj, err := t.Resource(o.finder.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if o.dryRun == "none" {
		return obj, nil
	}
	// What a server would refuse must not look done.
	if want := o.change.ResourceVersion; o.dryRun.client() && want != "" && want != obj.GetResourceVersion() {
		return nil, fmt.Errorf("%w: expected the resource version of %s to be %s, was %s", outcome.ErrPrecondition, t, want, obj.GetResourceVersion())
	}
	return obj, o.show(obj, c, done)
}

// show puts the new count into an object that a dry run has not changed.
func (o *scaleOptions) show(obj *unstructured.Unstructured, c located, done *replicas.Result) error {
	t, path := c.target, c.field.Path
	if path == nil {
		done.Replicas = cmp.Or(done.Replicas, o.change.Replicas)
		return nil // the field behind /scale is not known
	}
	now, found, err := path.Get(obj.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	n := done.Replicas
	if o.dryRun.client() {
		if o.change.ReadsCount() && !found {
			return o.change.NotSet(t, c.field)
		}
		done.Before = replicas.Before(obj, path)
		if n, err = o.change.From(t, now); err != nil {
			return err
		}
		done.Replicas = n
	}
	return path.Set(obj.Object, int64(n))
}
