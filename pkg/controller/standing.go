package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Standing is how far the loop is with an object: what its last look came to.
type Standing struct {
	// Kind is plural.group, and Of what is known of that.
	Kind, Namespace, Name string
	Of                    kinds.Kind
	// Converged says that the object has what it asks for, Why what is missing.
	Converged bool
	Why       string
	// Planned is what the loop would do, in a dry run only.
	Planned *Planned

	began time.Time // not Converged
}

// standings are those of all objects.
type standings struct {
	mu      sync.Mutex
	of      map[key]Standing
	changed chan struct{} // holds one at the most: there is something new
	took    *prometheus.HistogramVec
}

func newStandings(took *prometheus.HistogramVec) *standings {
	return &standings{of: map[key]Standing{}, changed: make(chan struct{}, 1), took: took}
}

// poke says that something is new.
func (s *standings) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *standings) set(k key, now time.Time, standing Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	standing.Kind, standing.Namespace, standing.Name = k.kind, k.namespace, k.name
	switch before := s.of[k]; {
	case standing.Converged && !before.began.IsZero():
		s.took.WithLabelValues(k.kind).Observe(now.Sub(before.began).Seconds())
	case !standing.Converged && before.began.IsZero():
		standing.began = now
	case !standing.Converged:
		standing.began = before.began
	}
	s.of[k] = standing
	s.poke()
}

func (s *standings) get(k key) (Standing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	standing, known := s.of[k]
	return standing, known
}

func (s *standings) forget(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
	s.poke()
}

// stand notes how far the loop is with an object, after a plan for it. An
// object that is being deleted has all that it will get.
func (c *Controller) stand(k key, v plan.View, p plan.Plan) {
	standing := Standing{Converged: v.Owner.Deleting}
	ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady)
	if ready != nil {
		standing.Converged = ready.Status == metav1.ConditionTrue && !p.Writes()
		standing.Why = ready.Message
	}
	if failure := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReplicaFailure); failure != nil && failure.Status == metav1.ConditionTrue {
		standing.Why = failure.Reason + ": " + failure.Message
	}
	if c.dryRun {
		standing.Planned = planned(v, p)
	}
	c.standings.set(k, c.clock.Now(), standing)
}

// Settle waits until every object that there is has been looked at and has what
// it asks for; in a dry run, until all have been looked at. Where the context
// ends before, it returns the cause of that.
func (c *Controller) Settle(ctx context.Context) error {
	for {
		if _, settled := c.Standings(); settled {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.standings.changed:
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

// Standings lists those of all objects in the order of their names, and says
// whether there is nothing to wait for.
func (c *Controller) Standings() (all []Standing, settled bool) {
	settled = c.declarations.known()
	for _, o := range c.kinds.list() {
		store, synced := o.cached()
		settled = settled && synced
		if store == nil {
			continue
		}
		for _, obj := range store.List() {
			u, ok := obj.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			k := key{kind: o.kind.CRD(), namespace: u.GetNamespace(), name: u.GetName()}
			s, known := c.standings.get(k)
			if !known {
				s = Standing{Kind: k.kind, Namespace: k.namespace, Name: k.name, Why: "not yet looked at"}
			}
			s.Of = o.kind
			all = append(all, s)
			settled = settled && known && (c.dryRun || s.Converged)
		}
	}
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}
