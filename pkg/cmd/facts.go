package cmd

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// facts reads from a target, whose object has been read, what a verdict is made
// of. For kinds that this program does not ship, the desired count is looked
// for where it lives.
func facts(ctx context.Context, c *clients, client dynamic.Interface, t target) (status.Object, error) {
	o, err := t.kind.Facts(t.obj)
	if err != nil || t.kind.Shipped() {
		return o, err
	}
	finder, err := c.finder()
	if err != nil {
		return o, err
	}
	field, err := finder.Find(ctx, t.kind, t.obj, nil)
	var unknown *replica.UnknownFieldError
	switch {
	case errors.As(err, &unknown):
		o.NoCount = true
		return o, nil
	case err != nil:
		return o, err
	}
	if field.Path != nil {
		n, found, err := field.Path.Get(t.obj.Object)
		o.Desired, o.NoCount = int32(n), !found //nolint:gosec // a count of pods
		return o, err
	}
	scale, err := replica.GetScale(ctx, t.objects(client), t.name)
	if apierrors.IsInternalError(err) {
		o.NoCount = true // so the server answers where an optional count is absent
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.Desired = scale.Spec.Replicas
	return o, nil
}
