package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// readAgain is how old the knowledge of an object may be when a pod is made or
// deleted for it.
const readAgain = time.Second

// cacheTimeout is the backstop behind the events that end the wait for a cache.
const cacheTimeout = time.Second

// reconcile brings one object a step closer to what it asks for: it looks,
// plans, executes, and writes the status if it changed. again is when to look
// again without an event, zero for not.
func (c *Controller) reconcile(ctx context.Context, k key) (again time.Duration, err error) {
	owners := c.kinds.get(k.kind)
	if owners != nil && owners.withdrawn.Load() {
		return 0, nil // takeUp wakes the object when it knows what is in force
	}
	var obj *unstructured.Unstructured
	if owners != nil {
		obj = owners.get(k.namespace, k.name)
	}
	var refused string
	var unseen error
	// Also for an object that is not in the cache: it may be yet to come.
	if owners != nil && !c.dryRun && (obj == nil || obj.GetDeletionTimestamp() == nil) {
		refused, unseen = c.checkOrphans(ctx, k)
		if unseen != nil && c.queue.NumRequeues(k) < troubleAfter {
			return 0, unseen // mostly it goes better the next time, and then all pods are in sight
		}
	}
	if obj == nil {
		c.expectations.forget(k)
		c.syncStates.forget(k)
		return 0, unseen
	}
	again, err = c.reconcileObject(ctx, k, owners, obj)
	if refused != "" {
		// Its pods are there all the same, and all else goes on.
		if c.logObject(k, "%s; trying again in %s", refused, lastRetry) {
			c.event(eventReference(owners.kind, obj), corev1.EventTypeWarning, "FailedLabel", "%s", refused)
		}
		if again == 0 || lastRetry < again {
			again = lastRetry
		}
	}
	return again, errors.Join(err, unseen)
}

// reconcileObject is reconcile for an object that is there.
func (c *Controller) reconcileObject(ctx context.Context, k key, owners *owners, obj *unstructured.Unstructured) (again time.Duration, err error) {
	// What is wrong with one object must not stop the loop for the others.
	defer func() {
		if p := recover(); p != nil {
			err = panicked(ctx, p)
			c.event(eventReference(owners.kind, obj), corev1.EventTypeWarning, "InternalError", "%v", err)
		}
	}()
	rec := c.expectations.of(k, obj.GetUID())
	rec.podsWritten = later(c.expectations.takeLabelled(k), rec.podsWritten)
	if c.cachesBehind(k, owners, rec) {
		c.metrics.cacheWaits.WithLabelValues(k.kind).Inc()
		return cacheTimeout, nil
	}
	if c.expectations.lifted(k) {
		rec.plan = rec.plan.Accepted()
	}
	if obj, err = owners.whole(ctx, obj); obj == nil {
		return 0, err // where it is gone, its event is under way
	}
	view, err := c.look(owners, obj, rec)
	if err != nil {
		return 0, err
	}
	decide := strategyOf(owners.kind)
	p := decide(view)
	c.expectations.saw(k, len(view.Pods))
	if p.Writes() {
		// A cached owner may be old by any stretch of time. Things are written
		// only for an owner that is there now, as it is now.
		obj, err = owners.client.Namespace(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || (err == nil && obj.GetUID() != rec.uid) {
			return 0, nil // its event is under way
		}
		if err != nil {
			return 0, fmt.Errorf("read %s again before anything is written for it: %w", k.name, err)
		}
		if !c.selector.Matches(labels.Set(obj.GetLabels())) {
			return 0, nil // likewise
		}
		if view, err = c.look(owners, obj, rec); err != nil {
			return 0, err
		}
		p = decide(view)
	}
	if c.dryRun {
		c.setSyncState(k, view, p)
		return 0, nil
	}
	return c.execute(ctx, k, owners, obj, rec, view, p)
}

// strategyOf is the plan by which a kind is reconciled.
func strategyOf(kind kinds.Kind) func(plan.View) plan.Actions {
	switch kind.Mapping.Strategy {
	case kinds.StrategyDeployment:
		return plan.Deployments
	case kinds.StrategyNodes:
		return plan.Nodes
	}
	return plan.Pods
}

// cachesBehind reports whether a cache has yet to see this loop's own writes.
// While it has, every event of the object wakes it up.
func (c *Controller) cachesBehind(k key, o *owners, rec *objectState) bool {
	c.expectations.setWaiting(k, true) // before the look: no event may come between
	if behind(c.pods.GetStore(), rec.podsWritten) {
		return true
	}
	if rec.deploymentWritten != "" && behind(c.deployments.informer.GetStore(), rec.deploymentWritten) {
		return true
	}
	if store := o.getStore(); store != nil && behind(store, rec.ownerWritten) {
		return true
	}
	c.expectations.setWaiting(k, false)
	return false
}

// look collects what the plan may know.
func (c *Controller) look(o *owners, obj *unstructured.Unstructured, rec *objectState) (plan.View, error) {
	v := plan.View{Owner: ownerView(o.kind, obj), Memory: rec.plan, Now: c.clock.Now()}
	var err error
	index := byOwner
	switch o.kind.Mapping.Strategy {
	case kinds.StrategyNodes:
		v.Nodes = c.nodeList()
	case kinds.StrategyDeployment:
		index = byLabel
		if v.Deployments, err = c.deploymentsOf(obj.GetNamespace(), obj.GetUID(), v.Owner.Wanted.Name); err != nil {
			return v, err
		}
	}
	pods, err := c.pods.GetIndexer().ByIndex(index, string(obj.GetUID()))
	if err != nil {
		return v, fmt.Errorf("find the pods of %s: %w", obj.GetName(), err)
	}
	v.Pods = make([]plan.Pod, 0, len(pods))
	for _, pod := range pods {
		if r, ok := pod.(*podRecord); ok && r.Namespace == obj.GetNamespace() {
			v.Pods = append(v.Pods, r.podView())
		}
	}
	return v, nil
}

// stillWanted returns a function that reports whether a plan still speaks of its
// object as it is, which was read at a time. The cache tells most changes; it may
// be behind by any stretch of time, so now and then the object is read again. The
// function is for one goroutine.
func (c *Controller) stillWanted(ctx context.Context, o *owners, obj *unstructured.Unstructured, read time.Time) func() bool {
	return func() bool {
		cached := o.get(obj.GetNamespace(), obj.GetName())
		// A cache that is behind what was read has nothing to say against it.
		if o.withdrawn.Load() || cached == nil || (!older(cached.GetResourceVersion(), obj.GetResourceVersion()) && differs(o.kind, cached, obj)) {
			return false
		}
		if c.clock.Now().Sub(read) < readAgain {
			return true
		}
		now, err := o.client.Namespace(obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{})
		if err != nil {
			return !apierrors.IsNotFound(err) // of a server that fails, the writes will tell
		}
		read = c.clock.Now()
		return !differs(o.kind, now, obj)
	}
}

// execute executes a plan. The status, which does not wait for that, is written
// at the same time.
func (c *Controller) execute(ctx context.Context, k key, o *owners, obj *unstructured.Unstructured, rec *objectState,
	view plan.View, p plan.Actions) (time.Duration, error) {
	w := &work{c: c, kind: o.kind, namespace: k.namespace, owner: reference(o.kind, obj), of: view.Owner, plan: p,
		failing: rec.failing}
	w.current = c.stillWanted(ctx, o, obj, view.Now)
	c.logPlan(k, view, p)
	rec.plan = p.Memory
	during, executed := context.WithCancel(ctx)
	defer executed() // also after a panic
	told, statusDone := p, make(chan error, 1)
	go func() {
		statusDone <- recoverPanic(ctx, func() (err error) {
			told, err = w.keepStatus(during, o, obj, rec, view, p)
			return err
		})
	}()
	c.metrics.planned(k.kind, p)
	out, done, err := w.execute(ctx)
	executed()
	c.metrics.wrote(k.kind, out)
	statusErr := <-statusDone
	rec.podsWritten = later(out.podsWritten, rec.podsWritten)
	rec.deploymentWritten = later(out.deploymentWritten, rec.deploymentWritten)
	if out.applied != nil {
		rec.plan.Applied = out.applied
	}
	switch {
	case out.created > 0 || out.applied != nil:
		rec.plan, rec.failing = rec.plan.Accepted(), 0
	case out.failing:
		rec.failing++
	}
	for _, r := range out.refused {
		rec.plan = rec.plan.Refused(r.slot, plan.Refusal{
			Reason: r.reason, Message: r.message, Generation: view.Owner.Generation, At: c.clock.Now(),
		})
	}
	c.expectations.setRefused(k, len(rec.plan.Refusals) > 0)
	c.logResult(k, o.kind, obj, rec, p, out, done)
	if err != nil && errors.Is(statusErr, errConflict) {
		statusErr = nil // the other error is the one to speak of
	}
	if err = errors.Join(err, statusErr); err != nil {
		return 0, err
	}
	if !out.ending && (!done || len(out.refused) > 0) {
		c.wake(k, "the last plan was not done in full") // plan the rest, or what the refusal means
	}
	c.logState(k, eventReference(o.kind, obj), view, told)
	c.setSyncState(k, view, p)
	return p.Recheck, nil
}
