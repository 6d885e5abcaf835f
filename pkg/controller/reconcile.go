package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// readAgain is how old the knowledge of an object may be when a pod is made or
// deleted for it.
const readAgain = time.Second

// cacheTimeout is the backstop behind the events that end the wait for a cache.
const cacheTimeout = time.Second

// reconciler looks at one object after the other, plans and executes.
type reconciler struct {
	*loop
}

// reconcile brings one object a step closer to what it asks for: it looks,
// plans, executes, and writes the status if it changed. again is when to look
// again without an event, zero for not.
func (r *reconciler) reconcile(ctx context.Context, k memory.Key) (again time.Duration, err error) {
	owners := r.kinds.get(k.Kind)
	if owners != nil && owners.withdrawn.Load() {
		return 0, nil // handleCRDChange wakes the object when it knows what is in force
	}
	var obj *unstructured.Unstructured
	if owners != nil {
		obj = owners.get(k.Namespace, k.Name)
	}
	if obj == nil {
		r.memory.Forget(k)
		r.queue.Drop(k)
		return 0, nil
	}
	return r.reconcileObject(ctx, k, owners, obj)
}

// reconcileObject is reconcile for an object that is there.
func (r *reconciler) reconcileObject(ctx context.Context, k memory.Key, owners *owners, obj *unstructured.Unstructured) (again time.Duration, err error) {
	// What is wrong with one object must not stop the loop for the others.
	defer func() {
		if p := recover(); p != nil {
			err = strategy.Panicked(ctx, p)
			r.report.Event(report.Reference(owners.kind, obj), corev1.EventTypeWarning, "InternalError", "%v", err)
		}
	}()
	rec := r.memory.Get(k, obj.GetUID())
	if err := r.findUnanswered(ctx, k, rec); err != nil && r.queue.NumRequeues(k) < troubleAfter {
		return 0, err
	}
	if r.cachesBehind(k, owners, rec) {
		return cacheTimeout, nil
	}
	if r.memory.TakeLifted(k) {
		rec.Plan = rec.Plan.Lifted()
	}
	if obj, err = owners.whole(ctx, obj); obj == nil {
		return 0, err // where it is gone, its event is under way
	}
	view, err := r.look(owners, obj, rec)
	if err != nil {
		return 0, err
	}
	p := plan.Decide(view, owners.strategy.Plan)
	r.queue.Saw(k, len(view.Pods)+len(view.Nodes))
	if p.Writes() {
		// A cached owner may be old by any stretch of time. Things are written
		// only for an owner that is there now, as it is now.
		obj, err = owners.client.Namespace(k.Namespace).Get(ctx, k.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || (err == nil && obj.GetUID() != rec.UID) {
			return 0, nil // its event is under way
		}
		if err != nil {
			return 0, fmt.Errorf("read %s before writing: %w", k.Name, err)
		}
		if !r.Selector.Matches(labels.Set(obj.GetLabels())) {
			return 0, nil // likewise
		}
		if view, err = r.look(owners, obj, rec); err != nil {
			return 0, err
		}
		p = plan.Decide(view, owners.strategy.Plan)
	}
	if r.DryRun {
		r.memory.Planned(k, r.Clock.Now(), view, p, plan.NewDryRun(view, p))
		return 0, nil
	}
	return r.execute(ctx, k, owners, obj, rec, view, p)
}

// findUnanswered looks for the pods that may have been created without an answer. The cache
// has to see those that are there: by then, the object may want other slots.
func (r *reconciler) findUnanswered(ctx context.Context, k memory.Key, rec *memory.Object) error {
	var mu sync.Mutex
	names := rec.Unanswered
	rec.Unanswered = nil
	begun, err := strategy.SlowStart(ctx, names, func() bool { return true }, func(ctx context.Context, name string) error {
		pod, err := r.Core.Pods(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		mu.Lock()
		defer mu.Unlock()
		if _, refused := strategy.RefusalReason(err); refused {
			return nil // mostly as it is not there
		}
		if err != nil {
			rec.Unanswered = append(rec.Unanswered, name)
			return fmt.Errorf("find pod %s, which may have been created: %w", name, err)
		}
		rec.Wrote(podsName, pod.ResourceVersion)
		return nil
	})
	rec.Unanswered = append(rec.Unanswered, names[begun:]...)
	return err
}

// cachesBehind reports whether a cache has yet to see this loop's own writes. While it has,
// every event of the object wakes it up.
func (r *reconciler) cachesBehind(k memory.Key, o *owners, rec *memory.Object) bool {
	r.memory.SetBehind(k, true) // before the look: no event may come between
	input, store := r.inputs[o.kind.Mapping.Strategy], o.getStore()
	behind := informer.Behind(r.pods.GetStore(), rec.Written[podsName]) ||
		(input != nil && informer.Behind(input.GetStore(), rec.Written[input.Resource()])) ||
		r.revisions.behind(rec.Written[r.revisions.Resource()]) ||
		(store != nil && informer.Behind(store, rec.Written[o.kind.CRD()]))
	if behind {
		r.Metrics.CacheWaits.WithLabelValues(k.Kind).Inc()
	}
	r.memory.SetBehind(k, behind)
	return behind
}

// look collects what the plan may know.
func (r *reconciler) look(o *owners, obj *unstructured.Unstructured, rec *memory.Object) (plan.View, error) {
	v := plan.View{Owner: o.strategy.Owner(o.kind, obj), Memory: rec.Plan, Now: r.Clock.Now().Round(0)}
	var input cache.Indexer
	if lazy := r.inputs[o.kind.Mapping.Strategy]; lazy != nil {
		input = lazy.GetIndexer()
	}
	if err := r.revisions.read(&v, obj); err != nil {
		return v, err
	}
	return v, o.strategy.Read(&v, obj, r.pods.GetIndexer(), input)
}

// stillWanted returns a function that reports whether a plan still speaks of its
// object as it is, which was read at a time. The cache tells most changes; it may
// be behind by any stretch of time, so now and then the object is read again. The
// function is for one goroutine.
func (r *reconciler) stillWanted(ctx context.Context, o *owners, obj *unstructured.Unstructured, read time.Time) func() bool {
	return func() bool {
		cached := o.get(obj.GetNamespace(), obj.GetName())
		// A cache that is behind what was read has nothing to say against it.
		if o.withdrawn.Load() || cached == nil || (!informer.Older(cached.GetResourceVersion(), obj.GetResourceVersion()) && differs(o.kind, cached, obj)) {
			return false
		}
		if r.Clock.Now().Sub(read) < readAgain {
			return true
		}
		now, err := o.client.Namespace(obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{})
		if err != nil {
			return false // nothing is known of it; the next reconcile says what is wrong
		}
		read = r.Clock.Now()
		return !differs(o.kind, now, obj)
	}
}

// execute executes a plan. The status, which does not wait for that, is written
// at the same time.
func (r *reconciler) execute(ctx context.Context, k memory.Key, o *owners, obj *unstructured.Unstructured, rec *memory.Object,
	view plan.View, p plan.Actions) (time.Duration, error) {
	w := &strategy.Work{
		Clients: strategy.Clients{Core: r.Core, Dynamic: r.Dynamic, Namespace: k.Namespace},
		Clock:   r.Clock, Kind: o.kind, Owner: reference(o.kind, obj), Object: obj, Of: view.Owner, Plan: p,
		Failing: rec.Failing, MaxFailing: troubleAfter,
		Current: r.stillWanted(ctx, o, obj, view.Now),
	}
	r.report.Plan(k, view, p)
	r.report.Pause(k, report.Reference(o.kind, obj), view, p, rec)
	rec.Plan = p.Memory
	during, executed := context.WithCancel(ctx)
	defer executed() // also after a panic
	told, statusDone := p, make(chan error, 1)
	go func() {
		statusDone <- strategy.Recover(ctx, func() (err error) {
			told, err = r.keepStatus(during, k, o, obj, rec, view, p)
			return err
		})
	}()
	r.Metrics.Planned(k.Kind, p)
	out, done, err := w.Execute(ctx)
	executed()
	r.Metrics.Created.WithLabelValues(k.Kind).Add(float64(out.Created))
	r.Metrics.Deleted.WithLabelValues(k.Kind).Add(float64(out.Deleted))
	statusErr := <-statusDone
	for resource, version := range out.Written {
		rec.Wrote(resource, version)
	}
	rec.Unanswered = out.Unanswered
	if out.Applied != nil {
		rec.Plan.Applied = out.Applied
	}
	r.recorded(k, o, obj, rec, view.Owner, out)
	switch {
	case out.Created > 0 || out.Applied != nil:
		rec.Plan, rec.Failing = rec.Plan.Accepted(), 0
	case out.Failing:
		rec.Failing++
	}
	for _, refusal := range out.Refused {
		r.Metrics.Refusals.WithLabelValues(k.Kind, refusal.Reason).Inc()
		rec.Plan = rec.Plan.Refused(refusal.Slot, plan.Refusal{
			Reason: refusal.Reason, Message: refusal.Message, Generation: view.Owner.Generation, At: r.Clock.Now(),
		})
	}
	if out.Declined[plan.KindPod] != "" {
		rec.Plan.LabelRefused = r.Clock.Now().Round(0)
	}
	r.memory.SetRefused(k, len(rec.Plan.Refusals) > 0)
	r.report.Result(k, report.Reference(o.kind, obj), rec, p, out, done)
	if err != nil && errors.Is(statusErr, strategy.ErrConflict) {
		statusErr = nil // the other error is the one to speak of
	}
	if err = errors.Join(err, statusErr); err != nil {
		return 0, err
	}
	if !out.Ending && (!done || len(out.Refused) > 0 || out.Declined[plan.KindPod] != "") {
		r.queue.Wake(k, "the last reconcile did not finish") // plan the rest, or what the refusal means
	}
	r.report.State(k, report.Reference(o.kind, obj), view, told)
	r.logFailures(k, o, obj)
	r.memory.Planned(k, r.Clock.Now(), view, p, nil)
	return p.Recheck, nil
}

// keepStatus writes the status that a plan found and, until the context ends, how
// far its execution has come. It returns the plan whose status was written last,
// and it alone writes notes meanwhile: what it wrote.
func (r *reconciler) keepStatus(ctx context.Context, k memory.Key, o *owners, obj *unstructured.Unstructured, rec *memory.Object,
	view plan.View, found plan.Actions) (told plan.Actions, err error) {
	told = found
	w := statusWriter{owners: o, key: k, memory: r.memory}
	for {
		if found.WriteStatus && !o.withdrawn.Load() {
			now, err := w.write(ctx, obj, found.Status)
			if errors.Is(err, strategy.ErrConflict) {
				rec.Plan.Written = rec.Plan.Written.Refused(view.Now)
			}
			if err != nil {
				return told, err
			}
			stored := view.Owner.Status
			if now != nil {
				obj = now
				rec.Wrote(o.kind.CRD(), now.GetResourceVersion())
				stored = strategy.DecodeStatus(o.kind.Mapping.Status, now)
			}
			rec.Plan.Written = rec.Plan.Written.Next(view.Now, found.Status, stored)
			told = found
		}
		select {
		case <-ctx.Done():
			return told, nil
		case <-time.After(plan.StatusInterval):
		}
		if view, err = r.look(o, obj, rec); err != nil {
			return told, err
		}
		found = o.strategy.Plan(view)
	}
}
