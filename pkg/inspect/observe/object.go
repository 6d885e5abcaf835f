package observe

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// readObject converts a target's object to the input of a verdict. For kinds that other programs reconcile, it
// first finds the status fields and, except for DaemonSets, the replica field.
func readObject(ctx context.Context, c *kube.Clients, t Target) (o status.Object, err error) {
	if t.Kind.Reconciled() {
		return facts.Of(t.Kind, t.Object)
	}
	var field discover.Field
	var unknown *discover.UnknownFieldError
	if t.Kind.CRD() != kinds.DaemonSets {
		if field, err = c.Finder.Find(ctx, t.Kind, t.Object, t.Path); err != nil && !errors.As(err, &unknown) {
			return o, err
		}
	}
	if _, path, _ := facts.Parked(t.Object); unknown != nil && path != nil {
		field, unknown = discover.Field{Path: path}, nil
	}
	known, err := StatusFacts(ctx, c.Finder, t.Kind, field.Path)
	if err != nil {
		return o, err
	}
	if o, err = facts.Read(t.Kind, t.Object, known); err != nil {
		return o, err
	}
	switch {
	case len(known.Desired) > 0:
		// The status has the desired count.
	case unknown != nil:
		o.NoCount = true
		o.Total = candidates.Total(unknown.Candidates)
	default:
		err = readDesired(ctx, c.Dynamic, t, field, &o)
	}
	known.Settle(&o, t.Object, field.Path)
	return o, err
}

// readDesired reads the desired count from the replica field or, if the path of the field is unknown, from /scale.
func readDesired(ctx context.Context, client dynamic.Interface, t Target, field discover.Field, o *status.Object) error {
	if field.Path != nil {
		n, found, err := field.Path.Get(t.Object.Object)
		o.Desired, o.NoCount = facts.Pods(n), !found
		return err
	}
	scale, err := discover.GetScale(ctx, t.Resource(client), t.Name)
	if apierrors.IsInternalError(err) {
		o.NoCount = true // the server returns this error if an optional count is not set
		return nil
	}
	if err != nil {
		return err
	}
	o.Desired, o.ScaleCount, o.Selects = scale.Spec.Replicas, &scale.Status.Replicas, scale.Status.Selector != ""
	return nil
}

// StatusFacts returns the facts of a kind. count is the path of the desired count, or nil if the path is unknown.
func StatusFacts(ctx context.Context, finder *discover.Finder, kind kinds.Kind, count *fieldpath.Path) (facts.Facts, error) {
	if kind.BuiltIn() {
		return facts.New(kind, kinds.Source{}, count)
	}
	key := ""
	if count != nil {
		key = count.String()
	}
	return discover.FromSource(ctx, finder, kind, key, func(source kinds.Source) (facts.Facts, error) {
		return facts.New(kind, source, count)
	})
}
