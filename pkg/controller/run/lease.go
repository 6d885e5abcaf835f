package run

import (
	"errors"
	"fmt"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Lease says how a loop gets along with others of its scope.
type Lease struct {
	Elect  bool
	IfHeld string
}

// election is a lease to wait for, and a config whose clients write only while it is
// held.
func (o *Lease) election(config *rest.Config, self leaserecord.Loop, metrics *metrics.Metrics, say func(string, ...any)) (*lease.Lease, *rest.Config, error) {
	client, err := coordinationv1client.NewForConfig(kube.WithProtobuf(config))
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	lease := &lease.Lease{Client: client, Self: self, ExitIfHeld: o.IfHeld == "exit", Log: say, OnChange: metrics.Lead}
	fenced := rest.CopyConfig(config)
	fenced.Wrap(lease.Fence)
	return lease, fenced, nil
}

// ifHeld says of a lease that another loop has that this is not what was asked for.
func ifHeld(err error) error {
	var held *lease.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: %s", outcome.ErrPrecondition, escape.Line(held.Error()))
	}
	return err
}
