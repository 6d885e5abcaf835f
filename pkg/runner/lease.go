package runner

import (
	"context"
	"errors"
	"fmt"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/leader"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Lease say how a loop gets along with others of its scope.
type Lease struct {
	Elect  bool
	IfHeld string
}

// hold waits for the lease and works while it is held, with a config whose
// clients write only then. The work is told whether it resumes.
func (o *Lease) hold(ctx context.Context, config *rest.Config, self status.Loop, metrics *metrics.Metrics, say func(string, ...any),
	work func(ctx context.Context, config *rest.Config, resumed bool) error) error {
	if !o.Elect {
		return work(ctx, config, false)
	}
	client, err := coordinationv1client.NewForConfig(clients.WithProtobuf(config))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	lease := &leader.Lease{Client: client, Self: self, ExitIfHeld: o.IfHeld == "exit", Log: say, OnChange: metrics.Lead}
	fenced := rest.CopyConfig(config)
	fenced.Wrap(lease.Fence)
	err = lease.Hold(ctx, func(ctx context.Context, resumed bool) error { return work(ctx, fenced, resumed) })
	var held *leader.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: %s", outcome.ErrPrecondition, escape.Line(held.Error()))
	}
	return err
}
