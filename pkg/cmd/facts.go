package cmd

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// facts reads from a target, whose object has been read, what a verdict is made
// of. Of kinds that this program does not reconcile, the facts of the kind tell
// what is to be expected of the status, and the desired count is looked for where
// it lives.
func facts(ctx context.Context, c *clients, client dynamic.Interface, t target) (status.Object, error) {
	if t.kind.Reconciled() {
		return t.kind.Facts(t.obj)
	}
	finder, err := c.finder()
	if err != nil {
		return status.Object{}, err
	}
	if known, err := finder.StatusFacts(ctx, t.kind, nil); err == nil && t.kind.BuiltIn() && len(known.Desired) > 0 {
		o, err := t.kind.Read(t.obj, known)
		known.Settle(&o, t.obj, nil)
		return o, err
	}
	field, err := finder.Find(ctx, t.kind, t.obj, t.path)
	var unknown *discover.UnknownFieldError
	if err != nil && !errors.As(err, &unknown) {
		return status.Object{}, err
	}
	known, err := finder.StatusFacts(ctx, t.kind, field.Path)
	if err != nil {
		return status.Object{}, err
	}
	o, err := t.kind.Read(t.obj, known)
	if err != nil {
		return o, err
	}
	switch {
	case len(known.Desired) > 0:
		// The controller says how many are wanted.
	case unknown != nil:
		o.NoCount = true
		o.Total = unknown.Total()
	default:
		err = wanted(ctx, client, t, field, &o)
	}
	known.Settle(&o, t.obj, field.Path)
	return o, err
}

// wanted reads the desired count where it lives.
func wanted(ctx context.Context, client dynamic.Interface, t target, field discover.Field, o *status.Object) error {
	if field.Path != nil {
		n, found, err := field.Path.Get(t.obj.Object)
		o.Desired, o.NoCount = kinds.Pods(n), !found
		return err
	}
	scale, err := discover.GetScale(ctx, t.objects(client), t.name)
	if apierrors.IsInternalError(err) {
		o.NoCount = true // so the server answers where an optional count is absent
		return nil
	}
	if err != nil {
		return err
	}
	o.Desired, o.Told, o.Selects = scale.Spec.Replicas, &scale.Status.Replicas, scale.Status.Selector != ""
	return nil
}
