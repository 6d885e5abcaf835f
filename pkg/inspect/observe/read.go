package observe

import (
	"context"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Depth is how far a look at an object goes. Each includes the ones before.
type Depth int

const (
	// Alone is the object itself.
	Alone Depth = iota
	// Below adds its pods, and the objects between it and its pods.
	Below
	// Reasons adds what may explain why it is not ready: events, nodes, and controllers.
	Reasons
	// Details adds the same for an object that is ready.
	Details
)

// Extent is how much a look includes.
type Extent struct {
	Depth Depth
	// Brief skips the objects below a ready object of a trusted kind.
	Brief bool
	// Competitors adds what may revert a change of the count, and disruption budgets. If there
	// are budgets, it also adds the pods.
	Competitors bool
	// Recount recounts the pods of disruption budgets.
	Recount bool
}

// Read reads a target and the rest of the extent. It does not read an object again.
func Read(ctx context.Context, c *kube.Factory, t Target, x Extent) (status.Snapshot, Target, error) {
	from, err := newFeeds(ctx, c, nil, readOnce)
	if err != nil {
		return status.Snapshot{}, t, err
	}
	defer from.stop()
	m := newModel(from, t, x, func() {})
	m.patient = true
	if err := t.Read(ctx, from.dynamic); err != nil {
		return status.Snapshot{}, t, err
	}
	e, _, err := m.look(ctx, t.Object)
	return e, t, err
}
