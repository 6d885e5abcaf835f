// Package controller is the reconcile loop that "run-controller" runs in the
// foreground: informers fill caches and put keys into a queue, a worker takes a
// key, looks, plans (package plan, pure) and executes. Nothing else decides
// anything.
package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Options says what a Controller works on and with.
type Options struct {
	// Dynamic serves the custom resources and Deployments, Core the pods and events.
	Dynamic dynamic.Interface
	Core    corev1client.CoreV1Interface
	// Kinds are the kinds to reconcile, Declared those of which CRDs tell besides.
	Kinds    []kinds.Kind
	Declared Declarations
	// Selector limits the objects; nil means all. One that no longer matches is
	// left alone, with what it has.
	Selector labels.Selector
	// Namespace is the one to work in; empty means all.
	Namespace string
	// Workers is how many objects are reconciled at the same time.
	Workers int
	// Log takes a line for each thing that is done.
	Log func(Line)
	// Resync is how often every object is looked at without an event; zero: never.
	Resync time.Duration
	// DryRun makes the loop look and plan, and write nothing at all.
	DryRun bool
	// Metrics count what the loop does; nil means that nobody asks.
	Metrics *Metrics
	// Resumed says that the loop goes on after an earlier one of this process, or
	// after a wait for the lease: missing rights and a server that fails are waited
	// out, and not an error.
	Resumed bool
	// Clock tells the time; nil means the machine's.
	Clock clock.PassiveClock
}

// Controller reconciles the objects of some kinds.
type Controller struct {
	core      corev1client.CoreV1Interface
	dynamic   dynamic.Interface
	namespace string
	selector  labels.Selector
	workers   int
	dryRun    bool
	resumed   bool
	resync    time.Duration
	clock     clock.PassiveClock

	queue workqueue.TypedRateLimitingInterface[key]
	pods  cache.SharedIndexInformer
	// deployments are those of the namespaces that the loop works in, nodes those of
	// the cluster.
	deployments, nodes *lazyInformer
	kinds              kindSet
	expectations       *expectations
	syncStates         *syncStates
	orphanScans        chan struct{} // holds at most one request for an orphan scan
	events             record.EventRecorder
	preflight          preflight
	declarations       declarations
	link               watchHealth

	line func(Line)

	underWay underWay

	looks   atomic.Int64
	metrics *Metrics
}

// Reconciles is how many times an object was looked at. A converged system
// does not add to it.
func (c *Controller) Reconciles() int64 { return c.looks.Load() }

const (
	// firstRetry and lastRetry bound the wait after an error that is worth an
	// early retry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// troubleAfter is how many failures in a row are told by an event, and for
	// creates by a condition: a few seconds of them.
	troubleAfter = 5
)

// New makes a Controller; Run starts it.
func New(opts Options) (*Controller, error) {
	metrics := opts.Metrics
	if metrics == nil {
		metrics = NewMetrics("")
	}
	c := &Controller{
		metrics:   metrics,
		core:      opts.Core,
		dynamic:   opts.Dynamic,
		namespace: opts.Namespace,
		selector:  opts.Selector,
		workers:   opts.Workers,
		resync:    opts.Resync,
		dryRun:    opts.DryRun,
		resumed:   opts.Resumed,
		clock:     opts.Clock,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[key](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[key]{Name: queueName(opts.Namespace), MetricsProvider: metrics}),
		kinds:        kindSet{all: map[string]*owners{}},
		declarations: declarations{Declarations: opts.Declared, refused: map[string]error{}},
		expectations: newExpectations(),
		syncStates:   newSyncStates(metrics.converging),
		orphanScans:  make(chan struct{}, 1),
		line:         opts.Log,
	}
	c.link.say, c.link.down = c.logf, map[string]bool{}
	pods, err := c.podInformer()
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	c.pods = pods
	if err := c.addLazyInformers(); err != nil {
		return nil, fmt.Errorf("watch what plans need: %w", err)
	}
	if c.selector == nil {
		c.selector = labels.Everything()
	}
	c.preflight.kinds = len(opts.Kinds)
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	for _, kind := range opts.Kinds {
		c.kinds.put(c.ownersOf(kind))
	}
	return c, nil
}

// ownersOf makes the cache of a kind's objects, which is yet to be filled.
func (c *Controller) ownersOf(kind kinds.Kind) *owners {
	c.metrics.know(kind.CRD())
	return &owners{kind: kind, client: c.dynamic.Resource(kind.Resource), stopped: make(chan struct{})}
}

// queueName is the queue's in the metrics.
func queueName(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return kinds.FieldManager
	}
	return kinds.FieldManager + "/" + namespace
}

// Synced reports whether all that there was at the start has been read.
func (c *Controller) Synced() bool {
	for _, o := range c.kinds.list() {
		if _, synced := o.cached(); !synced {
			return false
		}
	}
	return c.pods.HasSynced() && c.declarations.known()
}

// Run reconciles until the context ends, and returns when the writes under way
// have been answered. It returns an error at once where the rights or the
// server that it needs are missing from the start, unless it resumes.
func (c *Controller) Run(ctx context.Context) error {
	defer c.queue.ShutDown()
	if err := c.mayStart(ctx); err != nil {
		return err
	}
	// Events are still sent while the last writes are answered; those of the very
	// last may be lost: a broadcaster does not wait for its sink.
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	if !c.dryRun {
		broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.core.Events("")})
	}
	c.events = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: kinds.FieldManager})

	if _, err := c.pods.AddEventHandler(c.podEvents()); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	// What informers find worth a warning is said in the loop's own words (link);
	// theirs are for those who ask with -v=2.
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).V(2))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	running.Go(func() { c.pods.RunWithContext(ctx) })
	if c.resync > 0 {
		running.Go(func() { c.resyncs(ctx) })
	}
	if !c.dryRun {
		running.Go(func() { c.scanOrphansOnRequest(ctx) })
	}
	running.Go(func() { c.keepInformer(ctx, c.deployments) })
	running.Go(func() { c.keepInformer(ctx, c.nodes) })
	run := func(o *owners) {
		ctx, end := context.WithCancel(ctx)
		o.stop = end
		running.Go(func() {
			defer close(o.stopped)
			// That a declaration was withdrawn is no error of the loop.
			if err := c.follow(ctx, o); err != nil && ctx.Err() == nil {
				stop(err)
			}
		})
	}
	for _, o := range c.kinds.list() {
		run(o)
	}
	if c.declarations.any() {
		running.Go(func() {
			if err := c.followDeclarations(ctx, run); err != nil {
				stop(err)
			}
		})
	}
	running.Go(func() {
		if err := c.followQuotas(ctx); err != nil {
			stop(err)
		}
	})
	if cache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced) {
		for range c.workers {
			running.Go(func() { c.work(ctx) })
		}
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	c.expectations.stop() // after the last worker that could set a timer
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// mayStart finds at the start what would keep the loop from working. Later the
// informers try again, and say so.
func (c *Controller) mayStart(ctx context.Context) error {
	if c.resumed {
		return nil
	}
	if _, err := c.core.Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: apis.LabelOwner, Limit: 1}); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if c.declarations.any() {
		return c.mayReadDeclarations(ctx)
	}
	return nil
}

// work takes objects from the queue until it is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		k, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			c.underWay.begin(k, time.Now())
			c.handle(ctx, k)
			c.underWay.end(k)
		}
		c.queue.Done(k)
	}
}

// handle reconciles one object and says when it is looked at again.
func (c *Controller) handle(ctx context.Context, k key) {
	reasons := c.expectations.begin(k, c.looks.Add(1), time.Now())
	logger := klog.FromContext(ctx).WithValues("kind", k.kind, "namespace", k.namespace, "name", k.name, "reconcile", c.expectations.look(k))
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Reconcile", "because", reasons) // for those who ask with -v=2, see Run
	again, err := c.reconcile(ctx, k)
	c.metrics.reconciled(k.kind, err)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		// A conflict is nothing to speak of, but it must be looked at again: the
		// change that was missed may be one that wakes nobody.
		if !errors.Is(err, errConflict) {
			c.logObject(k, "%v; trying again", err)
		}
		c.syncStates.set(k, c.clock.Now(), SyncState{Why: err.Error()})
		if c.queue.NumRequeues(k) == troubleAfter {
			c.logError(k, err)
		}
		c.because(k, "it failed before")
		c.queue.AddRateLimited(k)
		return
	}
	c.queue.Forget(k)
	c.expectations.lookAgain(k, again, func() { c.wake(k, "its time has come") })
}

// wake puts an object into the queue, with the reason in words: at once, if the
// last look was long enough ago for the number of its pods.
func (c *Controller) wake(k key, why ...string) {
	c.because(k, why...)
	c.queue.AddAfter(k, c.expectations.requeueAfter(k, time.Now()))
}

// because notes why an object will be looked at, if somebody wants to know.
func (c *Controller) because(k key, why ...string) {
	if klog.V(2).Enabled() {
		c.expectations.because(k, strings.Join(why, " "))
	}
}

// resyncs puts all objects into the queue, again and again.
func (c *Controller) resyncs(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		for _, o := range c.kinds.list() {
			store, _ := o.cached()
			if store == nil {
				continue
			}
			for _, obj := range store.List() {
				if u, ok := obj.(*unstructured.Unstructured); ok {
					c.wake(key{kind: o.kind.CRD(), namespace: u.GetNamespace(), name: u.GetName()}, "resync")
				}
			}
		}
	}, c.resync)
}

// forbidden reports whether an error means that rights are missing.
func forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }
