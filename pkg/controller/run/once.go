package run

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Ends reports whether the loop ends by itself.
func (o *Options) Ends() bool { return o.Once || o.DryRun }

// runUntilConverged runs a loop until every object has converged or failed. It returns an
// error for each object that has not converged.
func (o *Options) runUntilConverged(ctx context.Context, loop *controller.Controller, namespace string) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(running)
		stop(nil)
	}()
	failures := failureTracker{of: o, loop: loop, grace: map[memory.Key]*status.FailureGrace{}}
	if o.Once {
		go func() {
			if failures.allFailed(running) {
				stop(errGivenUp)
			}
		}()
	}
	err := loop.WaitForConvergence(running)
	all, _ := loop.States()
	leftOut := loop.Refused()
	stop(nil)
	switch failure := <-ended; {
	case err == nil, errors.Is(err, outcome.ErrTimeout), errors.Is(err, errGivenUp):
	case failure != nil && ctx.Err() == nil:
		return failure
	default:
		return err
	}
	if o.DryRun {
		o.plans.add(all)
		return err
	}
	var errs []error
	for _, s := range all {
		if !s.Converged && err != nil {
			errs = append(errs, o.explainMissing(ctx, s, err))
		}
	}
	for _, kind := range o.Kinds.known {
		if err := leftOut[kind.CRD()]; err != nil && o.mayHave(ctx, kind, namespace) {
			errs = append(errs, fmt.Errorf("%s are not reconciled: %w", kind.CRD(), err))
		}
	}
	for _, crd := range o.Kinds.named {
		if err := leftOut[crd]; err != nil {
			errs = append(errs, fmt.Errorf("%s is not reconciled: %w", crd, err))
		}
	}
	if len(errs) > 0 {
		return outcome.Join(errs)
	}
	if err == nil || errors.Is(err, errGivenUp) {
		o.Log.say("converged: %s", problem.Quantity(len(all), "object"))
		return nil
	}
	return err
}

// mayHave reports whether a kind may have objects. It also does if the user cannot list them.
func (o *Options) mayHave(ctx context.Context, kind kinds.Kind, namespace string) bool {
	client, err := o.clients.Dynamic()
	if err != nil {
		return false
	}
	list, err := client.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return len(list.Items) > 0
}

// nameOf returns the type and name of an object, with the namespace if there are several.
func (o *Options) nameOf(s controller.State) string {
	kind := s.Of.String()
	if o.several || o.AllNamespaces {
		return kind + "/" + s.Name + " in namespace " + s.Namespace
	}
	return kind + "/" + s.Name
}
