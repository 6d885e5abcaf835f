package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// leaseOptions say how a loop gets along with others of its scope.
type leaseOptions struct {
	elect  bool
	ifHeld ifHeld
}

func (o *leaseOptions) addFlags(cmd *cobra.Command) {
	o.ifHeld = "wait"
	cmd.Flags().BoolVar(&o.elect, "leader-elect", true, "If true, work only while no other loop of the same scope does, by a lease. Without, two loops do no harm, but do the same work; it is for debugging.")
	cmd.Flags().Var(&o.ifHeld, "if-held", `What to do while another loop has the lease. Must be "wait" or "exit".`)
}

// hold waits for the lease and works while it is held, with a config whose
// clients write only then.
func (o *leaseOptions) hold(ctx context.Context, config *rest.Config, self status.Loop, metrics *controller.Metrics, say func(string, ...any),
	work func(context.Context, *rest.Config) error) error {
	if !o.elect {
		return work(ctx, config)
	}
	client, err := coordinationv1client.NewForConfig(protobuf(config))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	lease := &controller.Lease{Client: client, Self: self, ExitIfHeld: o.ifHeld == "exit", Say: say, Metrics: metrics}
	fenced := rest.CopyConfig(config)
	fenced.Wrap(lease.Fence)
	err = lease.Hold(ctx, func(ctx context.Context) error { return work(ctx, fenced) })
	var held *controller.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: %w", ErrPrecondition, held)
	}
	return err
}

// ifHeld is what to do when another loop has the lease: wait or exit.
type ifHeld string

// Set takes a value from the command line.
func (i *ifHeld) Set(value string) error {
	if value != "wait" && value != "exit" {
		return errors.New(`must be "wait" or "exit"`)
	}
	*i = ifHeld(value)
	return nil
}

// String returns the value.
func (i *ifHeld) String() string { return string(*i) }

// Type names the kind of value in help texts.
func (i *ifHeld) Type() string { return "string" }
