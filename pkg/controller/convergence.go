package controller

import (
	"cmp"
	"context"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// State is how far the loop is with an object.
type State struct {
	memory.Key
	memory.Progress
	Of kinds.Kind
}

// WaitForConvergence waits until every object that there is has been reconciled and has
// what it asks for; in a dry run, until there is a plan for each. If the context ends
// before, it returns the cause.
func (c *Controller) WaitForConvergence(ctx context.Context) error {
	for {
		if _, settled := c.States(); settled {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.memory.Changed():
		}
	}
}

// Refused returns the kinds (plural.group) whose objects are not reconciled because
// they, or what their plans need, may not be read, with the reason.
func (c *Controller) Refused() map[string]error {
	refused := c.declarations.invalid()
	for _, o := range c.kinds.list() {
		if err := o.state.Load().refused; err != nil {
			refused[o.kind.CRD()] = err
		}
	}
	return refused
}

// States lists the states of all objects by name, and reports whether there is nothing
// to wait for.
func (c *Controller) States() (all []State, settled bool) {
	settled = c.declarations.hasSynced()
	for _, o := range c.kinds.list() {
		settled = settled && o.state.Load().hasSynced()
		for _, k := range o.keys() {
			progress, known := c.memory.Progress(k)
			if !known {
				progress.Why = "not reconciled yet"
			}
			all = append(all, State{Key: k, Progress: progress, Of: o.kind})
			settled = settled && known && (c.DryRun || progress.Converged)
		}
	}
	slices.SortFunc(all, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}
