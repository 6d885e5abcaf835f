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

// Lease configures how a loop coordinates with other loops of its scope.
type Lease struct {
	Elect  bool
	IfHeld string
}

// election returns the lease to acquire, and a config whose clients can write only while it
// is held.
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

// ifHeld makes a lease that another loop holds a failed precondition.
func ifHeld(err error) error {
	var held *lease.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: %s", outcome.ErrPrecondition, escape.Line(held.Error()))
	}
	return err
}
