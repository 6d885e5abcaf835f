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

// Extent is how much a look at an object includes.
type Extent struct {
	Depth Depth
	// Brief leaves out what stands below an object whose own status says that it is ready,
	// if that status can be relied on.
	Brief bool
	// Competitors adds who may revert a change of the count, and who guards the pods. If pods
	// may be guarded, it also adds what stands below.
	Competitors bool
	// Recount counts the pods of each disruption budget anew.
	Recount bool
}

// Read reads a target, unless it was read before, and what else the extent includes.
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
