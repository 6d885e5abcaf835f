// Package controller is the reconcile loop that "run-controller" runs in the
// foreground: informers fill caches and put keys into a queue, a worker takes a
// key, looks, plans (package plan, pure) and executes. Nothing else decides
// anything.
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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/queue"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Options says what a Controller works on and with.
type Options struct {
	// Dynamic serves the custom resources, Deployments and revisions, Core the pods and
	// events.
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
	// Install is the command that installs the CRDs of the kinds.
	Install string
	// Log takes a line for each thing that is done.
	Log func(report.Line)
	// Resync is how often every object is looked at without an event; zero: never.
	Resync time.Duration
	// DryRun makes the loop look and plan, and write nothing at all.
	DryRun bool
	// Metrics count what the loop does; nil means that nobody asks.
	Metrics *metrics.Metrics
	// Resumed says that the loop goes on after an earlier one of this process, or
	// after a wait for the lease: missing rights and a server that fails are waited
	// out, and not an error.
	Resumed bool
	// Clock tells the time; nil means the machine's.
	Clock clock.PassiveClock
}

// loop is what all parts of a Controller share: what it works on and with, and
// what it knows.
type loop struct {
	Options

	strategies map[kinds.Strategy]*strategy.Strategy
	kinds      *kindSet
	// pods are all pods, with a stub for those of others; inputs, by strategy, is what
	// plans read apart from them.
	pods   cache.SharedIndexInformer
	inputs map[kinds.Strategy]*informer.Lazy
	// revisions are the templates that objects had.
	revisions *revisions
	queue     *queue.Queue

	memory *memory.Memory
	report *report.Reporter
	health *informer.Health
}

// clients are those of the namespace that the loop works in.
func (l *loop) clients() strategy.Clients {
	return strategy.Clients{Core: l.Core, Dynamic: l.Dynamic, Namespace: l.Namespace}
}

// Controller reconciles the objects of some kinds.
type Controller struct {
	*loop
	reconciler   *reconciler
	declarations *declarations
	follower     *follower
	underWay     underWay
}

// Reconciles is how many times an object was looked at. A converged system
// does not add to it.
func (c *Controller) Reconciles() int64 { return c.queue.Looked() }

// troubleAfter is how many failures in a row are told by an event, and for
// creates by a condition: a few seconds of them.
const troubleAfter = 5

// New makes a Controller; Run starts it.
func New(opts Options) (*Controller, error) {
	if opts.Metrics == nil {
		opts.Metrics = metrics.New("")
	}
	if opts.Selector == nil {
		opts.Selector = labels.Everything()
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	strategies, err := strategy.All()
	if err != nil {
		return nil, err
	}
	l := &loop{
		Options:    opts,
		strategies: strategies,
		kinds:      &kindSet{all: map[string]*owners{}},
		inputs:     map[kinds.Strategy]*informer.Lazy{},
		queue:      queue.New(queueName(opts.Namespace), opts.Metrics),
		memory:     memory.New(opts.Metrics),
	}
	l.report = &report.Reporter{Log: opts.Log, Namespace: opts.Namespace, Objects: l.memory, Look: l.queue.Look}
	l.health = informer.NewHealth(l.report.Logf)
	c := &Controller{loop: l, reconciler: &reconciler{loop: l}}
	c.follower = &follower{loop: l, preflight: preflight{kinds: len(opts.Kinds)}}
	c.declarations = &declarations{loop: l, refused: map[string]error{}}
	if err := l.makeCaches(); err != nil {
		return nil, err
	}
	for _, kind := range opts.Kinds {
		o, err := l.ownersOf(kind)
		if err != nil {
			return nil, err
		}
		l.kinds.put(o)
	}
	return c, nil
}

// ownersOf makes the cache of a kind's objects, which is yet to be filled.
func (l *loop) ownersOf(kind kinds.Kind) (*owners, error) {
	s := l.strategies[kind.Mapping.Strategy]
	if s == nil {
		return nil, fmt.Errorf("%s: unknown strategy %q", kind.CRD(), kind.Mapping.Strategy)
	}
	l.Metrics.Know(kind.CRD())
	return &owners{
		kind: kind, strategy: s, ownsPods: kind.Mapping.Strategy.OwnsPods(),
		client: l.Dynamic.Resource(kind.Resource), stopped: make(chan struct{}),
	}, nil
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
	if !c.DryRun {
		broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.Core.Events("")})
	}
	c.report.Events = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: kinds.FieldManager})

	if _, err := c.pods.AddEventHandler(c.podEvents()); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	// What informers find worth a warning is said in the loop's own words (health);
	// theirs are for those who ask with -v=2.
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).V(2))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	running.Go(func() { c.pods.RunWithContext(ctx) })
	for name := range c.inputs {
		running.Go(func() { c.keepInput(ctx, name) })
	}
	running.Go(func() { c.revisions.keep(ctx) })
	run := func(o *owners) {
		ctx, end := context.WithCancel(ctx)
		o.stop = end
		running.Go(func() {
			defer close(o.stopped)
			// That a declaration was withdrawn is no error of the loop.
			if err := c.follower.follow(ctx, o); err != nil && ctx.Err() == nil {
				stop(err)
			}
		})
	}
	for _, o := range c.kinds.list() {
		run(o)
	}
	if c.declarations.any() {
		running.Go(func() {
			if err := c.declarations.follow(ctx, run); err != nil {
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
		if c.Resync > 0 {
			running.Go(func() { c.resyncs(ctx) })
		}
		for range c.Workers {
			running.Go(func() { c.work(ctx) })
		}
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	c.queue.Stop() // after the last worker that could set a timer
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// mayStart finds at the start what would keep the loop from working. Later the
// informers try again, and say so.
func (c *Controller) mayStart(ctx context.Context) error {
	if c.Resumed {
		return nil
	}
	if _, err := c.Core.Pods(c.Namespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if c.declarations.any() {
		return c.declarations.mayRead(ctx)
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
func (c *Controller) handle(ctx context.Context, k memory.Key) {
	look, reasons := c.queue.Begin(k, time.Now())
	logger := klog.FromContext(ctx).WithValues("kind", k.Kind, "namespace", k.Namespace, "name", k.Name, "reconcile", look)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Reconcile", "because", reasons) // for those who ask with -v=2, see Run
	again, err := c.reconciler.reconcile(ctx, k)
	c.Metrics.Reconciled(k.Kind, err)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		// A conflict is nothing to speak of, but it must be looked at again: the
		// change that was missed may be one that wakes nobody.
		if !errors.Is(err, strategy.ErrConflict) {
			c.report.LogObject(k, "%v; trying again", err)
		}
		c.memory.Failed(k, c.Clock.Now(), err)
		if c.queue.NumRequeues(k) == troubleAfter {
			c.reportFailure(k, err)
		}
		c.queue.Because(k, "the last attempt failed")
		c.queue.AddRateLimited(k)
		return
	}
	c.queue.Forget(k)
	c.queue.LookAgain(k, again)
}

// reportFailure records on the object that it could not be reconciled for a while.
func (c *Controller) reportFailure(k memory.Key, err error) {
	o := c.kinds.get(k.Kind)
	if o == nil {
		return
	}
	if obj := o.get(k.Namespace, k.Name); obj != nil {
		c.report.Event(report.Reference(o.kind, obj), corev1.EventTypeWarning, "ReconcileFailed", "%v", err)
	}
}

// resyncs puts all objects into the queue, again and again.
func (c *Controller) resyncs(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		for _, o := range c.kinds.list() {
			for _, k := range o.keys() {
				c.queue.WakeLater(k, "resync")
			}
		}
	}, c.Resync)
}

// forbidden reports whether an error means that rights are missing.
func forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }
