package controller

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// lazyInformer is the cache of something other than pods that the plans of some kinds
// look at. It is filled when such a kind is there to be reconciled, and no object
// of it is planned for before: of a cache that is still empty a plan would
// believe that there is nothing.
type lazyInformer struct {
	resource string
	plan     kinds.Strategy
	// may asks the server whether it may be listed.
	may      func(context.Context) error
	informer cache.SharedIndexInformer

	once   sync.Once
	needed chan struct{}
	filled chan struct{}
}

func newLazyInformer(resource string, plan kinds.Strategy, informer cache.SharedIndexInformer, may func(context.Context) error) *lazyInformer {
	return &lazyInformer{
		resource: resource, plan: plan, informer: informer, may: may,
		needed: make(chan struct{}), filled: make(chan struct{}),
	}
}

// waitForSync returns when its cache is filled, or the context ends.
func (s *lazyInformer) waitForSync(ctx context.Context) {
	s.once.Do(func() { close(s.needed) })
	select {
	case <-s.filled:
	case <-ctx.Done():
	}
}

// keepInformer fills a cache from when it is first needed until the context ends.
// Missing rights are waited out; the kinds that do not need it go on.
func (c *Controller) keepInformer(ctx context.Context, s *lazyInformer) {
	select {
	case <-s.needed:
	case <-ctx.Done():
		return
	}
	said := false
	err := wait.PollUntilContextCancel(ctx, crdInterval, true, func(ctx context.Context) (bool, error) {
		err := s.may(ctx)
		switch {
		case err == nil && said:
			c.logf("%s can be listed now", s.resource)
		case err != nil && ctx.Err() == nil && !said:
			c.logf("cannot list %s: %v; not reconciled until that is possible: %s", s.resource, err, strings.Join(c.kindsBy(s.plan), ", "))
			said = true
		}
		if err != nil && ctx.Err() == nil {
			for _, o := range c.kinds.by(s.plan) {
				o.setRefused(err) // also of a kind that was declared since
			}
			c.syncStates.notify()
		}
		return err == nil, nil
	})
	if err != nil {
		return // the context has ended
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
		close(s.filled)
	}
}

// kindsBy lists the kinds that are reconciled by a plan.
func (c *Controller) kindsBy(plan kinds.Strategy) []string {
	var names []string
	for _, o := range c.kinds.by(plan) {
		names = append(names, o.kind.CRD())
	}
	return names
}

// addLazyInformers makes the caches that the plans of the kinds need.
func (c *Controller) addLazyInformers() error {
	deployments, err := c.deploymentInformer()
	if err != nil {
		return err
	}
	if _, err := deployments.AddEventHandler(c.deploymentEvents()); err != nil {
		return err
	}
	c.deployments = newLazyInformer("deployments", kinds.StrategyDeployment, deployments, func(ctx context.Context) error {
		_, err := c.dynamic.Resource(deploymentResource()).Namespace(c.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	nodes, err := c.nodeInformer()
	if err != nil {
		return err
	}
	if _, err := nodes.AddEventHandler(c.nodeEvents()); err != nil {
		return err
	}
	c.nodes = newLazyInformer("nodes", kinds.StrategyNodes, nodes, func(ctx context.Context) error {
		_, err := c.core.Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	return nil
}

// lazyInformerOf is what the plan of a kind needs beside pods, nil if nothing.
func (c *Controller) lazyInformerOf(kind kinds.Kind) *lazyInformer {
	switch kind.Mapping.Strategy {
	case kinds.StrategyDeployment:
		return c.deployments
	case kinds.StrategyNodes:
		return c.nodes
	}
	return nil
}
