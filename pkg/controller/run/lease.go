package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Lease configures how a loop coordinates with other loops that have the same scope.
type Lease struct {
	Elect  bool
	IfHeld string
}

// runWithLease runs the loop of a namespace while this process holds the lease. Without the lease, the loop
// cannot write. If another loop holds the lease and IfHeld is "exit", the error is ErrPrecondition.
func (o *Options) runWithLease(ctx context.Context, namespace string) error {
	client, err := coordinationv1client.NewForConfig(kube.WithProtobuf(o.config))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	scope := leaserecord.Scope{
		Namespace: namespace, Selector: o.Matches.String(), Declared: o.Kinds.Declared, Kinds: o.Kinds.listed(),
	}
	l := &lease.Lease{
		Client: client, Clock: clock.RealClock{}, Self: holder.Self(o.Version, scope),
		ExitIfHeld: o.Lease.IfHeld == "exit", Log: o.logFor(namespace), OnChange: o.metrics.Lead,
	}
	waits := true
	err = l.Hold(ctx, func(leading context.Context, resumed bool) error {
		err := o.runLoop(leading, l.Fence, namespace, resumed)
		waits = leading.Err() != nil && ctx.Err() == nil // the lease was lost
		return err
	})
	switch {
	case errors.Is(err, lease.ErrHeld):
		return fmt.Errorf("%w: %s", outcome.ErrPrecondition, escape.Line(err.Error()))
	case waits && ctx.Err() != nil && o.Ends():
		return fmt.Errorf("wait for the lease in %s: %w", cmp.Or(namespace, "all namespaces"), context.Cause(ctx))
	}
	return err
}
