package controller

import (
	"cmp"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// State is the progress of the loop with an object. Of is the kind of the object.
type State struct {
	memory.Key
	memory.Progress
	Of kinds.Kind
}

// Changed returns a channel that holds a value after the result of States has changed.
func (c *Controller) Changed() <-chan struct{} { return c.memory.Changed() }

// Refused returns the reason why each refused kind (plural.group) is not reconciled: a missing
// permission, an input of plans that cannot be listed, or a wrong declaration.
func (c *Controller) Refused() map[string]error {
	refused := map[string]error{}
	for _, o := range c.kinds.list() {
		if err := o.state.Load().refused; err != nil {
			refused[o.kind.CRD()] = err
		}
	}
	return refused
}

// States lists the states of all objects by namespace, kind, and name. settled means that all are
// cached and have converged or, in a dry run, have a plan or a failure.
func (c *Controller) States() (all []State, settled bool) {
	settled = c.Synced()
	for _, o := range c.kinds.list() {
		for _, k := range o.keys() {
			progress, known := c.memory.Progress(k)
			all = append(all, State{Key: k, Progress: progress, Of: o.kind})
			settled = settled && known && (c.DryRun || progress.Converged)
		}
	}
	slices.SortFunc(all, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}
