package run

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease"
)

// standby is a loop that fills its caches while another one has the lease. It writes
// nothing until it leads.
type standby struct {
	loop  *controller.Controller
	lead  chan struct{}
	stop  context.CancelFunc
	ended chan error
}

// standBy starts a loop that does not lead yet.
func (o *Options) standBy(ctx context.Context, config *rest.Config, namespace string) (*standby, error) {
	s := &standby{lead: make(chan struct{}), ended: make(chan error, 1)}
	var err error
	// What is missing now is waited for: another loop may have been told of it.
	if s.loop, err = o.newLoop(config, namespace, true, s.lead); err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	o.health.works(namespace, "standing by for the lease", s.loop)
	go func() { s.ended <- s.loop.Run(ctx) }()
	return s, nil
}

// end stops the loop, and returns when its last write has been answered.
func (s *standby) end() error {
	s.stop()
	return <-s.ended
}

// holdWarm is Lease.Hold for a loop whose caches are filled before it has the lease.
func (o *Options) holdWarm(ctx context.Context, lease *lease.Lease, fenced *rest.Config, namespace string) error {
	next, err := o.standBy(ctx, fenced, namespace)
	if err != nil {
		return err
	}
	err = lease.Hold(ctx, func(working context.Context, _ bool) error {
		o.health.works(namespace, "reconciling", next.loop)
		defer context.AfterFunc(working, next.stop)()
		close(next.lead)
		if err := <-next.ended; err != nil || ctx.Err() != nil {
			next.ended <- nil // it has ended, for whoever ends it
			return err
		}
		// The lease was lost.
		var err error
		next, err = o.standBy(ctx, fenced, namespace)
		return err
	})
	if next != nil {
		_ = next.end() // what ended a loop that does not lead concerns nobody
	}
	return err
}
