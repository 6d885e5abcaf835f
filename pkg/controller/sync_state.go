package controller

import (
	"cmp"
	"context"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/syncstate"
)

// WaitForConvergence waits until every object that there is has been looked at and has what
// it asks for; in a dry run, until all have been looked at. Where the context
// ends before, it returns the cause of that.
func (c *Controller) WaitForConvergence(ctx context.Context) error {
	for {
		if _, settled := c.SyncStates(); settled {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.syncStates.Changed():
		}
	}
}

// Refused gives the kinds (plural.group) whose objects are not reconciled because
// they, or what their plans need, may not be read, with the reason.
func (c *Controller) Refused() map[string]error {
	refused := c.declarations.wrong()
	for _, o := range c.kinds.list() {
		if err := o.getRefused(); err != nil {
			refused[o.kind.CRD()] = err
		}
	}
	return refused
}

// SyncStates lists those of all objects in the order of their names, and says
// whether there is nothing to wait for.
func (c *Controller) SyncStates() (all []syncstate.State, settled bool) {
	settled = c.declarations.known()
	for _, o := range c.kinds.list() {
		store, synced := o.cached()
		settled = settled && synced
		for _, k := range o.keysIn(store) {
			s, known := c.syncStates.Get(k)
			if !known {
				s = syncstate.State{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Why: "not reconciled yet"}
			}
			s.Of = o.kind
			all = append(all, s)
			settled = settled && known && (c.DryRun || s.Converged)
		}
	}
	slices.SortFunc(all, func(a, b syncstate.State) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}
