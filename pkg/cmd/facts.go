package cmd

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// facts reads from a target, whose object has been read, what a verdict is made
// of. Of kinds that this program does not know, the schema tells what is to be
// expected of the status, and the desired count is looked for where it lives.
func facts(ctx context.Context, c *clients, client dynamic.Interface, t target) (status.Object, error) {
	o, err := t.kind.Facts(t.obj)
	if err != nil || t.kind.Reconciled() {
		return o, err
	}
	finder, err := c.finder()
	if err != nil {
		return o, err
	}
	if o.Untracked || o.Uncounted {
		if err := expect(finder, t.kind, &o); err != nil {
			// Without it, what is there is taken for all that there could be.
			klog.FromContext(ctx).V(1).Info("The schema of a kind is left out", "kind", t.kind, "err", err)
		}
	}
	return o, wanted(ctx, finder, client, t, &o)
}

// expect adds what the schema of a kind says of its status.
func expect(finder *replica.Finder, kind replica.Kind, o *status.Object) error {
	served, err := finder.Serves(kind, "status")
	if err != nil {
		return err
	}
	schema, err := finder.Schema(kind)
	if err != nil {
		return err
	}
	kind.Expect(o, schema, served)
	return nil
}

// wanted finds the desired count where it lives.
func wanted(ctx context.Context, finder *replica.Finder, client dynamic.Interface, t target, o *status.Object) error {
	field, err := finder.Find(ctx, t.kind, t.obj, t.path)
	var unknown *replica.UnknownFieldError
	switch {
	case errors.As(err, &unknown):
		o.NoCount = true
		return nil
	case err != nil:
		return err
	}
	if field.Path != nil {
		n, found, err := field.Path.Get(t.obj.Object)
		o.Desired, o.NoCount = int32(n), !found //nolint:gosec // a count of pods
		return err
	}
	scale, err := replica.GetScale(ctx, t.objects(client), t.name)
	if apierrors.IsInternalError(err) {
		o.NoCount = true // so the server answers where an optional count is absent
		return nil
	}
	if err != nil {
		return err
	}
	o.Desired = scale.Spec.Replicas
	return nil
}
