package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/expectations"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// SyncState is how far the loop is with an object: what its last look came to.
type SyncState struct {
	// Kind is plural.group, and Of what is known of that.
	Kind, Namespace, Name string
	Of                    kinds.Kind
	// Converged says that the object has what it asks for, Why what is missing.
	Converged bool
	Why       string
	// DryRun is what the loop would do, in a dry run only.
	DryRun *DryRunResult

	began time.Time // not Converged
}

// syncStates are those of all objects.
type syncStates struct {
	mu      sync.Mutex
	of      map[expectations.Key]SyncState
	changed chan struct{} // holds one at the most: there is something new
	metrics *metrics.Metrics
}

func newSyncStates(metrics *metrics.Metrics) *syncStates {
	return &syncStates{of: map[expectations.Key]SyncState{}, changed: make(chan struct{}, 1), metrics: metrics}
}

// notify says that something is new.
func (s *syncStates) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *syncStates) set(k expectations.Key, now time.Time, state SyncState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state.Kind, state.Namespace, state.Name = k.Kind, k.Namespace, k.Name
	switch before := s.of[k]; {
	case state.Converged && !before.began.IsZero():
		s.metrics.Converged(k.Kind, now.Sub(before.began))
	case !state.Converged && before.began.IsZero():
		state.began = now
	case !state.Converged:
		state.began = before.began
	}
	s.of[k] = state
	s.notify()
}

func (s *syncStates) get(k expectations.Key) (SyncState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known := s.of[k]
	return state, known
}

func (s *syncStates) forget(k expectations.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
	s.notify()
}

// observe notes how far the loop is with an object, after a plan for it. An
// object that is being deleted has all that it will get.
func (s *syncStates) observe(k expectations.Key, now time.Time, v plan.View, p plan.Actions, dryRun bool) {
	state := SyncState{Converged: v.Owner.Deleting}
	ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady)
	if ready != nil {
		state.Converged = ready.Status == metav1.ConditionTrue && !p.Writes()
		state.Why = ready.Message
	}
	if failure := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReplicaFailure); failure != nil && failure.Status == metav1.ConditionTrue {
		state.Why = failure.Reason + ": " + failure.Message
	}
	if v.Paused() {
		state.Why = v.Owner.Pause.String()
	}
	if dryRun {
		state.DryRun = planned(v, p)
	}
	s.set(k, now, state)
}

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
		case <-c.syncStates.changed:
		}
	}
}

// Refused gives the kinds (plural.group) whose objects are not reconciled because
// of what else may not be read, with the reason.
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
func (c *Controller) SyncStates() (all []SyncState, settled bool) {
	settled = c.declarations.known()
	for _, o := range c.kinds.list() {
		store, synced := o.cached()
		settled = settled && synced
		for _, k := range o.keysIn(store) {
			s, known := c.syncStates.get(k)
			if !known {
				s = SyncState{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Why: "not reconciled yet"}
			}
			s.Of = o.kind
			all = append(all, s)
			settled = settled && known && (c.DryRun || s.Converged)
		}
	}
	slices.SortFunc(all, func(a, b SyncState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}
