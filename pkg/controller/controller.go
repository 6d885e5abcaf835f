// Package controller implements the reconcile loop of "run-controller". Informers fill caches (sources.go) and add the
// keys of objects (kinds.go) to a queue (queue.go). A worker takes a key, reads the view of its object from the caches,
// makes a plan (package plan), applies it (reconcile.go), and writes the status (status.go).
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Options configures a Controller.
type Options struct {
	strategy.Clients // with the namespace to reconcile
	// Kinds lists the kinds to reconcile from the start. Declared selects CRDs that declare more kinds.
	Kinds    []kinds.Kind
	Declared Declarations
	// Selector selects the objects to reconcile by their labels.
	Selector labels.Selector
	// Workers is the maximum number of objects that are reconciled in parallel.
	Workers int
	// Install is the command that the log suggests if the CRD of a kind is not installed.
	Install string
	// Log writes a log line. It must be safe for concurrent use.
	Log func(report.Line)
	// DryRun means that the loop makes plans but does not write anything.
	DryRun bool
	// Metrics receives the metrics of the loop.
	Metrics *metrics.Metrics
	// Resumed means that this process had to wait for the lease, or has lost it before. If Resumed is
	// set, an error at the start does not end Run, because the informers retry.
	Resumed bool
	// Clock is the clock for reconciles and Stuck.
	Clock clock.PassiveClock
}

// Controller reconciles the objects that its Options select.
type Controller struct {
	Options

	kinds kindSet
	// pods caches a record of each pod that may belong to a reconciled object, and a stub of each other pod. inputs
	// caches other inputs of plans, such as nodes, by strategy. revisions caches ControllerRevisions without templates.
	pods      *informer.Informer
	inputs    map[kinds.Strategy]*informer.Informer
	revisions *revisionCache

	// crdsHandled is true after the CRDs that existed at the start have been handled.
	crdsHandled atomic.Bool
	queue       workqueue.TypedRateLimitingInterface[memory.Key]
	memory      *memory.Memory
	report      *report.Reporter
	health      *informer.Health
}

// New returns a Controller that is not running yet.
func New(opts Options) *Controller {
	c := &Controller{
		Options: opts,
		inputs:  map[kinds.Strategy]*informer.Informer{},
		memory:  memory.New(opts.Metrics),
	}
	c.queue = newQueue(opts.Namespace, opts.Metrics, c.memory.Later)
	c.report = &report.Reporter{Log: opts.Log, Namespace: opts.Namespace, Objects: c.memory}
	c.health = informer.NewHealth(c.report.Logf)
	c.makeCaches()
	for _, kind := range opts.Kinds {
		c.kinds.Store(kind.CRD(), c.ownersOf(kind))
	}
	return c
}

// ownersOf returns a kind whose objects are not cached yet, and creates the metrics of the kind.
func (c *Controller) ownersOf(kind kinds.Kind) *owners {
	c.Metrics.Know(kind.CRD())
	o := &owners{kind: kind, strategy: strategy.All()[kind.Mapping.Strategy], client: c.Dynamic.Resource(kind.Resource)}
	o.state.Store(&ownerState{})
	return o
}

// Synced reports whether pods, CRDs (with Declared), and objects are cached. It ignores missing or refused kinds.
func (c *Controller) Synced() bool {
	for _, o := range c.kinds.list() {
		if !o.state.Load().hasSynced() {
			return false
		}
	}
	return c.pods.HasSynced() && (c.crdsHandled.Load() || !c.Declared.any())
}

// Run reconciles objects until ctx is canceled. Then it waits for all writes in flight, and returns nil. If permissions
// are missing or the server fails at the start (see mayStart), Run returns an error, unless Resumed is set.
func (c *Controller) Run(ctx context.Context) error {
	defer c.queue.ShutDown()
	if err := c.mayStart(ctx); err != nil && !c.Resumed {
		return err
	}
	// The last writes may record events after ctx is canceled. Some of these events may be lost,
	// because the broadcaster does not wait for its sink.
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	if !c.DryRun {
		broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: c.Core.Events("")})
	}
	c.report.Events = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: kinds.FieldManager})

	// c.health logs failed watches, so client-go logs them only with -v=2.
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).V(2))
	var running sync.WaitGroup
	running.Go(func() { c.pods.RunWithContext(ctx) })
	for name := range c.inputs {
		running.Go(func() { c.keepInput(ctx, name) })
	}
	running.Go(func() { c.revisions.keep(ctx) })
	run := func(o *owners) {
		ctx, cancel := context.WithCancel(ctx)
		stopped := make(chan struct{})
		o.stop = func() { cancel(); <-stopped }
		running.Go(func() {
			defer close(stopped)
			for ctx.Err() == nil {
				c.followInstalled(ctx, o)
			}
		})
	}
	for _, o := range c.kinds.list() {
		run(o)
	}
	if c.Declared.any() {
		running.Go(func() { c.followDeclarations(ctx, run) })
	}
	if cache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced) {
		for range c.Workers {
			running.Go(func() { c.work(ctx) })
		}
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	return nil
}

// mayStart returns an error if pods or, with Declared, CRDs cannot be listed. Without Declared, it also returns an
// error if each kind's list request is forbidden. It logs missing CRDs. Informers retry and log later failures.
func (c *Controller) mayStart(ctx context.Context) error {
	one := metav1.ListOptions{Limit: 1}
	if _, err := c.Core.Pods(c.Namespace).List(ctx, one); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if c.Declared.any() {
		_, err := c.Dynamic.Resource(kinds.CRDResource()).List(ctx, one)
		if forbidden(err) {
			err = fmt.Errorf("list CRDs to find declared kinds (without this permission, pass the CRDs with --kind-file): %w", err)
		}
		if err != nil {
			return err
		}
	}
	var missing []kinds.Kind
	var denied []error
	for _, o := range c.kinds.list() {
		_, err := o.client.Namespace(c.Namespace).List(ctx, one)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, o.kind)
			o.state.Store(&ownerState{missing: true})
		case forbidden(err):
			denied = append(denied, fmt.Errorf("list %s: %w", o.kind.CRD(), err))
		}
	}
	c.logNotInstalled(missing...)
	if len(denied) < len(c.Kinds) || c.Declared.any() {
		return nil
	}
	return errors.Join(denied...)
}

// State is the progress of the loop for one object. Of is the kind of that object.
type State struct {
	memory.Key
	memory.Progress
	Of kinds.Kind
}

// Changed returns a channel that receives a value after the result of States has changed.
func (c *Controller) Changed() <-chan struct{} { return c.memory.Changed() }

// Refused maps each refused kind (plural.group) to its error: no permission, or a missing or invalid declaration.
func (c *Controller) Refused() map[string]error {
	refused := map[string]error{}
	for _, o := range c.kinds.list() {
		if err := o.state.Load().refused; err != nil {
			refused[o.kind.CRD()] = err
		}
	}
	return refused
}

// States returns the states of all objects, sorted by namespace, kind, and name. settled means that
// all objects are cached and have converged or, in a dry run, have been planned or have failed.
func (c *Controller) States() (all []State, settled bool) {
	settled = c.Synced()
	for _, o := range c.kinds.list() {
		for _, k := range o.keys() {
			progress := c.memory.Progress(k)
			all = append(all, State{Key: k, Progress: ptr.Deref(progress, memory.Progress{}), Of: o.kind})
			settled = settled && progress != nil && (c.DryRun || progress.Converged)
		}
	}
	slices.SortFunc(all, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, settled
}

// stuckAfter is the age at which a running reconcile counts as stuck. Requests and waits have much shorter timeouts.
const stuckAfter = 10 * time.Minute

// Stuck returns a message about the oldest running reconcile if its age is at least stuckAfter, or
// else "". After the context of Run is canceled, such a reconcile can keep Run from returning.
func (c *Controller) Stuck() string {
	k, since, running := c.memory.Oldest()
	if !running || c.Clock.Now().Sub(since) < stuckAfter {
		return ""
	}
	return fmt.Sprintf("the reconcile of %s %s/%s has not ended since %s", k.Kind, k.Namespace, k.Name, since.UTC().Format("2006-01-02 15:04:05 MST"))
}

func forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }
