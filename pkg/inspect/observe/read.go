package observe

import (
	"context"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Depth determines how much Read reads for an object. Each depth includes the previous depths.
type Depth int

// The depths.
const (
	Alone   Depth = iota // the object itself
	Below                // the pods of the object, and the objects in between
	Reasons              // if the object is not ready: events, nodes, and run-controllers, which can explain why
	Details              // like Reasons, but also for a ready object
)

// Extent selects the objects that Read reads for a target.
type Extent struct {
	Depth Depth
	// Competitors adds autoscalers, which can reset the count, and disruption budgets. If budgets exist, it adds pods.
	Competitors bool
	// Recount means that a report counts the guarded and healthy pods of each budget. See budget.Of.
	Recount bool
}

// Read reads a single target. See Reader.Read.
func Read(ctx context.Context, c *kube.Clients, t Target, e Extent) (status.Snapshot, Observation, error) {
	r := NewReader(ctx, c, false)
	defer r.Stop()
	return r.Read(ctx, t, e)
}

// Reader reads targets without watching them.
type Reader struct{ *feeds.Feeds }

// NewReader returns a reader, which must be stopped. several means that the targets in a namespace share a list of
// pods. If several is false, each target lists only the pods that match its selector, if it has one.
func NewReader(ctx context.Context, c *kube.Clients, several bool) *Reader {
	from := feeds.New(ctx, c, nil, several)
	from.Once = true
	return &Reader{from}
}

// Read returns a snapshot of a target, and the observation with the report on the snapshot. If t.Object is nil, Read
// reads the object first.
func (r *Reader) Read(ctx context.Context, t Target, e Extent) (status.Snapshot, Observation, error) {
	m := newModel(r.Feeds, t, e)
	m.patient = true
	if err := t.Read(ctx, r.Dynamic); err != nil {
		return status.Snapshot{}, Observation{Target: t}, err
	}
	s, report, err := m.look(ctx, t.Object)
	return s, Observation{Target: t, Report: report, At: s.Now}, err
}
