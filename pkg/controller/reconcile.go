package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

const (
	// liveReadInterval is the minimum time between two reads of an object from the server while its children are written.
	liveReadInterval = time.Second
	// cacheTimeout is the delay until the next reconcile if a cache lacks a write, unless an event comes first.
	cacheTimeout = time.Second
	// troubleAfter is the number of consecutive failures after which an event reports the next one. Failed creates are
	// also reported in a condition. The back-off reaches this number within a few seconds.
	troubleAfter = 5
)

func (c *Controller) work(ctx context.Context) {
	for {
		k, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			c.handle(ctx, k)
		}
		c.memory.End(k)
		c.queue.Done(k)
	}
}

// handle reconciles one object, and requeues it after the delay from reconcile or, after an error, with a back-off.
func (c *Controller) handle(ctx context.Context, k memory.Key) {
	number, reasons := c.memory.Begin(k, time.Now())
	logger := klog.FromContext(ctx).WithValues("kind", k.Kind, "namespace", k.Namespace, "name", k.Name, "reconcile", number)
	ctx = klog.NewContext(ctx, logger)
	if len(reasons) == 0 {
		reasons = []string{"timer"}
	}
	logger.Info("Reconcile", "because", reasons) // logged with -v=2, see Run
	recheck, err := c.reconcile(ctx, k)
	c.Metrics.Reconciled(k.Kind, err)
	if err == nil {
		c.queue.Forget(k)
		c.wakeAfter(k, recheck)
		return
	}
	if ctx.Err() != nil {
		return
	}
	// Do not log a conflict. It is retried, because the conflicting change might not trigger a reconcile.
	if !errors.Is(err, strategy.ErrConflict) {
		c.report.LogObject(k, "%v; trying again", err)
	}
	c.memory.Failed(k, c.Clock.Now(), err)
	if o := c.kinds.get(k.Kind); o != nil && c.queue.NumRequeues(k) == troubleAfter {
		if obj := o.get(k.Namespace, k.Name); obj != nil {
			c.report.Event(obj, corev1.EventTypeWarning, "ReconcileFailed", "%v", err)
		}
	}
	c.memory.Because(k, false, "the last attempt failed")
	c.queue.AddRateLimited(k)
}

// reconcile brings one object a step closer to its desired state. recheck is the delay until the
// next reconcile if no event comes first; zero means that only an event triggers it.
func (c *Controller) reconcile(ctx context.Context, k memory.Key) (recheck time.Duration, err error) {
	var obj *unstructured.Unstructured
	o := c.kinds.get(k.Kind)
	if o != nil {
		if o.withdrawn.Load() {
			return 0, nil // handleCRDChange restarts or removes the kind, and the object is queued again
		}
		obj = o.get(k.Namespace, k.Name)
	}
	if obj == nil {
		c.memory.Forget(k)
		return 0, nil
	}
	r := &reconciliation{Controller: c, key: k, owners: o, object: obj, mem: c.memory.Get(k, obj.GetUID())}
	// A panic while one object is reconciled must not stop the loop.
	defer func() {
		if p := recover(); p != nil {
			err = strategy.Panicked(ctx, p)
			c.report.Event(r.object, corev1.EventTypeWarning, "InternalError", "%v", err)
		}
	}()
	return r.run(ctx)
}

type reconciliation struct {
	*Controller
	key    memory.Key
	owners *owners
	object *unstructured.Unstructured // from the cache or, after readLive, from the server
	mem    *memory.Object
	view   plan.View
	plan   plan.Actions
}

func (r *reconciliation) run(ctx context.Context) (recheck time.Duration, err error) {
	if err := r.findUnanswered(ctx); err != nil && r.queue.NumRequeues(r.key) < troubleAfter {
		return 0, err
	}
	if r.cachesBehind() {
		return cacheTimeout, nil
	}
	outline := isOutline(r.object)
	if !outline {
		r.makePlan()
	}
	// The cached object may be out of date, so before a child is written, read the object from the server and plan again.
	if outline || r.plan.Writes() {
		if there, err := r.readLive(ctx); !there {
			return 0, err
		}
		r.makePlan()
	}
	if r.DryRun {
		r.memory.Planned(r.key, r.Clock.Now(), r.view, r.plan, plan.NewDryRun(r.view, r.plan))
		return 0, nil
	}
	return r.apply(ctx)
}

// findUnanswered checks whether the pods in mem.Unanswered exist. If so, no plan is made until the cache has them.
func (r *reconciliation) findUnanswered(ctx context.Context) error {
	for len(r.mem.Unanswered) > 0 {
		name := r.mem.Unanswered[0]
		pod, err := r.Core.Pods(r.key.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch _, refused := strategy.RefusalReason(err); {
		case err == nil:
			r.mem.Wrote(r.pods.Resource, pod.ResourceVersion)
		case !refused: // NotFound is a refusal: the pod was not created
			return fmt.Errorf("find pod %s, which may have been created: %w", name, err)
		}
		r.mem.Unanswered = r.mem.Unanswered[1:]
	}
	return nil
}

// cachesBehind reports whether a cache lacks a write that the loop made for the object.
func (r *reconciliation) cachesBehind() bool {
	caches := []*informer.Informer{r.pods, r.revisions.Informer, r.inputs[r.owners.kind.Mapping.Strategy], r.owners.state.Load().objects}
	behind := slices.ContainsFunc(caches, func(i *informer.Informer) bool { return i != nil && i.Behind(r.mem.Written[i.Resource]) })
	if behind {
		r.Metrics.CacheWaits.WithLabelValues(r.key.Kind).Inc()
	}
	return behind
}

// readLive reads the object from the server into r.object. It returns false without an error if the
// object was deleted or recreated, or is no longer selected. In these cases, a watch event follows.
func (r *reconciliation) readLive(ctx context.Context) (there bool, err error) {
	now, err := r.owners.client.Namespace(r.key.Namespace).Get(ctx, r.key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s before writing: %w", r.key.Name, err)
	}
	r.object = now
	return now.GetUID() == r.mem.UID && r.Selector.Matches(labels.Set(now.GetLabels())), nil
}

func (r *reconciliation) makePlan() {
	o, s := r.owners, r.owners.strategy
	r.view = plan.View{Owner: s.Owner(o.kind, r.object), Memory: r.mem.Plan, Now: r.Clock.Now().Round(0)}
	if r.revisions.Filled() {
		strategy.ReadRevisions(&r.view, r.object, r.revisions.GetIndexer())
	}
	if input := r.inputs[o.kind.Mapping.Strategy]; input != nil {
		s.Read(&r.view, r.object, input.GetIndexer())
	}
	r.view.Pods = s.Pods(r.object, r.pods.GetIndexer())
	r.memory.Saw(r.key, len(r.view.Pods)+len(r.view.Nodes))
	r.plan = plan.Decide(r.view, s.Plan)
}

// apply executes the plan, writes the status, and returns the delay until the next reconcile.
func (r *reconciliation) apply(ctx context.Context) (recheck time.Duration, err error) {
	k, o, v, a := r.key, r.owners, r.view, r.plan
	r.report.Plan(k, v, a, r.mem)
	r.report.Pause(k, r.object, v, a, r.mem)
	w := &strategy.Work{
		Clients: strategy.Clients{Core: r.Core, Dynamic: r.Dynamic, Namespace: k.Namespace},
		Clock:   r.Clock, Plan: a,
		Kind: o.kind, Object: r.object, Of: v.Owner, Owner: *metav1.NewControllerRef(r.object, o.kind.GroupVersionKind()),
		LastTry: r.mem.Failing+1 >= troubleAfter, Current: r.isCurrent(ctx),
	}
	r.mem.Plan = a.Memory
	during, applied := context.WithCancel(ctx)
	defer applied() // in case of a panic
	status := statusWriter{reconciliation: *r, written: a}
	statusDone := make(chan error, 1)
	go func() { statusDone <- strategy.Recover(ctx, func() error { return status.writeUntilApplied(during) }) }()
	out, done, err := w.Execute(ctx)
	applied()
	statusErr := <-statusDone
	r.remember(out)
	r.report.Result(k, r.object, r.mem, a, out, done)
	if err != nil && errors.Is(statusErr, strategy.ErrConflict) {
		statusErr = nil // err has more detail
	}
	if err = errors.Join(err, statusErr); err != nil {
		return 0, err
	}
	if !out.Ending && (!done || len(out.Refused) > 0 || len(out.Declined) > 0 || out.Unchanged) {
		r.wake(k, false, "the last reconcile did not finish") // plan the remaining work, or react to the refusal
	}
	r.report.State(k, r.object, v, status.written, r.mem)
	r.logFailures()
	r.memory.Planned(k, r.Clock.Now(), v, a, nil)
	return a.Recheck, nil
}

// logFailures logs why pods will not become ready by themselves. Each reason is logged again only
// after the loop has acted on the object, or the object has converged.
func (r *reconciliation) logFailures() {
	if r.view.Owner.Deleting {
		return
	}
	for _, pod := range r.owners.strategy.Pods(r.object, r.pods.GetIndexer()) {
		if pod.FailureCode != "" && !r.mem.Logged[pod.FailureCode] {
			r.mem.Logged[pod.FailureCode] = true
			r.report.LogObject(r.key, "%d of %d pods ready: %s", r.plan.Status.Ready, r.plan.Status.Desired, pod.Failure)
		}
	}
}

// isCurrent returns a function that reports whether the plan still matches the object. The function checks the cache
// and, at most once per liveReadInterval, the server, because the cache may be old. It is not safe for concurrent use.
func (r *reconciliation) isCurrent(ctx context.Context) func() bool {
	kind, planned, read := r.owners.kind, r.object, r.view.Now
	return func() bool {
		cached := r.owners.get(r.key.Namespace, r.key.Name)
		if cached == nil || r.owners.withdrawn.Load() {
			return false
		}
		// Ignore a cached object that is older than the planned one.
		if !informer.Older(cached.GetResourceVersion(), planned.GetResourceVersion()) && differs(kind, cached, planned) {
			return false
		}
		if r.Clock.Now().Sub(read) < liveReadInterval {
			return true
		}
		now, err := r.owners.client.Namespace(r.key.Namespace).Get(ctx, r.key.Name, metav1.GetOptions{})
		if err != nil {
			return false // the next reconcile reports the error
		}
		read = r.Clock.Now()
		return !differs(kind, now, planned)
	}
}

// remember records the outcome of a plan for the next plan, and updates the metrics.
func (r *reconciliation) remember(out *strategy.Outcome) {
	k, mem, owner := r.key, r.mem, r.view.Owner
	r.Metrics.Created.WithLabelValues(k.Kind).Add(float64(out.Created))
	r.Metrics.Deleted.WithLabelValues(k.Kind).Add(float64(out.Deleted))
	for resource, version := range out.Written {
		mem.Wrote(resource, version)
	}
	mem.Unanswered = out.Unanswered
	r.rememberRevision(out)
	switch {
	case out.Created > 0 || out.Applied != nil:
		mem.Plan, mem.Failing = mem.Plan.Accepted(), 0
	case out.Failing:
		mem.Failing++
	case len(r.plan.Operations) == 0 && len(mem.Plan.Refusals) == 0:
		mem.Failing = 0
	}
	if out.Applied != nil {
		mem.Plan.Applied = out.Applied
	}
	for slot, refusal := range out.Refused {
		r.Metrics.Refusals.WithLabelValues(k.Kind, refusal.Reason).Inc()
		refusal.Generation, refusal.At = owner.Generation, r.Clock.Now()
		mem.Plan = mem.Plan.Refused(slot, refusal)
	}
	if out.Declined[plan.KindPod] != "" {
		mem.Plan.LabelRefused = r.Clock.Now().Round(0)
	}
}

// rememberRevision records whether the writes of revisions succeeded. It reports the first of consecutive rejections.
func (r *reconciliation) rememberRevision(out *strategy.Outcome) {
	why, refused := out.Declined[plan.KindRevision]
	switch {
	case refused:
		if r.mem.Plan.Unrecorded == (plan.Unrecorded{}) {
			const message = "cannot keep the history of the pod template: %s"
			r.report.Event(r.object, corev1.EventTypeWarning, "FailedRevision", message, why)
			r.report.LogObject(r.key, message, why)
		}
		r.mem.Plan.Unrecorded = plan.Unrecorded{Template: r.view.Owner.TemplateHash, Generation: r.view.Owner.Generation}
	case out.Written[r.revisions.Resource] != "":
		r.mem.Plan.Unrecorded, r.mem.Failing = plan.Unrecorded{}, 0
	}
}
