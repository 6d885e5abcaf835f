// Package syncstate is how far a loop is with each of its objects.
package syncstate

import (
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

// State is how far the loop is with an object: what its last look came to.
type State struct {
	// Kind is plural.group, and Of what is known of that.
	Kind, Namespace, Name string
	Of                    kinds.Kind
	// Converged says that the object has what it asks for, Why what is missing.
	Converged bool
	Why       string
	// StatusLater says that only a write of its status is missing, as when pods that it does not
	// want terminate one after the other.
	StatusLater bool
	// DryRun is what the loop would do, in a dry run only.
	DryRun *DryRunResult
}

// kept is what is kept of a State: there are many objects, and a kinds.Kind is large.
type kept struct {
	converged bool
	why       string
	dryRun    *DryRunResult
	began     time.Time // to converge
}

// States are those of all objects.
type States struct {
	mu      sync.Mutex
	of      map[expectations.Key]kept
	changed chan struct{} // holds one at the most: there is something new
	metrics *metrics.Metrics
}

// New makes the states of a loop that has looked at nothing yet.
func New(metrics *metrics.Metrics) *States {
	return &States{of: map[expectations.Key]kept{}, changed: make(chan struct{}, 1), metrics: metrics}
}

// Notify says that something is new.
func (s *States) Notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Set notes how far the loop is with an object, as of now.
func (s *States) Set(k expectations.Key, now time.Time, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := kept{converged: state.Converged, why: state.Why, dryRun: state.DryRun}
	reached := state.Converged || state.StatusLater
	switch before := s.of[k]; {
	case reached && !before.began.IsZero():
		s.metrics.Converged(k.Kind, now.Sub(before.began))
	case !reached && before.began.IsZero():
		after.began = now
	case !reached:
		after.began = before.began
	}
	s.of[k] = after
	s.Notify()
}

// Get returns how far the loop is with an object, if it has looked at it.
func (s *States) Get(k expectations.Key) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known := s.of[k]
	return State{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Converged: state.converged, Why: state.why, DryRun: state.dryRun}, known
}

// Forget drops an object that is gone.
func (s *States) Forget(k expectations.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
	s.Notify()
}

// Observe notes how far the loop is with an object, after a plan for it. An
// object that is being deleted has all that it will get.
func (s *States) Observe(k expectations.Key, now time.Time, v plan.View, p plan.Actions, dryRun bool) {
	state := State{Converged: v.Owner.Deleting}
	ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady)
	if ready != nil {
		reached := ready.Status == metav1.ConditionTrue && !p.Writes()
		state.Converged, state.StatusLater = reached && !p.StatusLater, reached && p.StatusLater
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
	s.Set(k, now, state)
}

// Changed returns a channel that holds a value when something is new.
func (s *States) Changed() <-chan struct{} { return s.changed }
