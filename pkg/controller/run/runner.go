// Package run implements "run-controller": it runs a loop per namespace in the foreground, with
// leases, a log, and probes. With --once or --dry-run, the loops end by themselves.
package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// DefaultWorkers is the default number of parallel reconciles. A slow request for one object should not delay others.
const DefaultWorkers = 8

// Options configures a run of the controller.
type Options struct {
	Streams       genericiooptions.IOStreams
	Log           Log
	Version       string
	AllNamespaces bool
	Kinds         Kinds
	Selector      string
	Workers       int
	Lease         Lease
	Serve         Serving
	RateLimit     RateLimit
	Once, DryRun  bool
	Limits        observe.Limits // for a run that ends by itself
	Output        string         // for a dry run

	Matches labels.Selector // the parsed selector
	config  *rest.Config    // counts requests
	clients *kube.Clients   // of the command, not of a loop
	mu      sync.Mutex
	plans   []controller.State // of a dry run, from all namespaces
	metrics *metrics.Metrics
	health  health
}

// Run runs the controller until the context is canceled or, with --once or --dry-run, until its work is done.
func (o *Options) Run(ctx context.Context, f *kube.Factory, warnings io.Writer) error {
	namespaces, err := o.namespaces(f)
	if err != nil {
		return err
	}
	if o.config, err = f.Config(); err != nil {
		return err
	}
	f.WaitForServer()
	o.config.WarningHandler = rest.NewWarningWriter(escape.Writer(warnings), rest.WarningWriterOptions{Deduplicate: true})
	if o.clients, err = f.Connect(); err != nil {
		return err
	}
	o.Log.qualified = len(namespaces) > 1 || o.AllNamespaces
	if err := o.logStart(f, namespaces); err != nil {
		return err
	}
	o.metrics = metrics.New(o.Version)
	for _, namespace := range namespaces {
		o.health.set(namespace, loopHealth{synced: func() bool { return false }, stuck: func() string { return "" }})
	}
	stop, err := o.Serve.serve(ctx, o.metrics, &o.health, o.Log.say)
	defer stop()
	if err != nil {
		return err
	}
	o.config.Wrap(o.metrics.Count)
	parent := ctx
	if o.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Limits.Timeout, outcome.ErrTimeout)
		defer cancel()
	}
	err = o.runInEach(ctx, namespaces)
	switch {
	case parent.Err() != nil && !o.Ends():
		return nil // Ctrl-C is the usual way to exit
	case o.DryRun && (err == nil || len(o.plans) > 0):
		return outcome.Join([]error{o.printPlans(), err})
	}
	return err
}

// namespaces returns the namespaces to reconcile; "" means all.
func (o *Options) namespaces(f *kube.Factory) ([]string, error) {
	list, _, err := f.Namespaces()
	if err != nil || o.AllNamespaces {
		return []string{metav1.NamespaceAll}, err
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (o *Options) runIn(ctx context.Context, namespace string) error {
	core, err := corev1client.NewForConfig(kube.WithProtobuf(o.config))
	if err != nil {
		return err
	}
	if namespace != metav1.NamespaceAll { // a loop in a misspelled namespace would wait forever
		if _, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	if o.DryRun {
		return o.runLoop(ctx, readOnly, namespace, false)
	}
	o.health.waits(namespace, "waiting for the lease")
	if !o.Lease.Elect {
		return o.runLoop(ctx, nil, namespace, false)
	}
	return o.runWithLease(ctx, namespace)
}

// runLoop runs a loop until the context is canceled or, with --once or --dry-run, until its work is done.
// If resumed is set, missing permissions or a failing server at the start do not end the loop. fence may reject writes.
func (o *Options) runLoop(ctx context.Context, fence transport.WrapperFunc, namespace string, resumed bool) error {
	config := rest.CopyConfig(o.config)
	config.Wrap(fence)
	if limit := o.RateLimit; limit.Qps > 0 { // shared by the clients of the loop
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(limit.Qps, cmp.Or(limit.Burst, max(1, int(2*limit.Qps))))
	}
	dynamic, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(kube.WithProtobuf(config))
	if err != nil {
		return err
	}
	loop := controller.New(controller.Options{
		Clients:  strategy.Clients{Core: core, Dynamic: dynamic, Namespace: namespace},
		Kinds:    o.Kinds.known,
		Declared: controller.Declarations{All: o.Kinds.Declared, Named: o.Kinds.named},
		Selector: o.Matches,
		Workers:  o.Workers,
		DryRun:   o.DryRun,
		Resumed:  resumed,
		Metrics:  o.metrics,
		Install:  o.clients.CommandContext().Line(commandline.Plugin("install")),
		Log:      o.Log.line,
		Clock:    clock.RealClock{},
	})
	o.health.set(namespace, loopHealth{synced: loop.Synced, stuck: loop.Stuck})
	defer o.health.waits(namespace, "waiting for the lease")
	if o.Ends() {
		return o.runUntilConverged(ctx, loop, namespace)
	}
	return loop.Run(ctx)
}

// RateLimit limits the requests of a loop. If Qps is 0, they are not limited.
type RateLimit struct {
	Qps   float32
	Burst int
}

func (o *Options) logFor(namespace string) func(string, ...any) {
	return func(format string, args ...any) {
		o.Log.line(report.Line{Text: fmt.Sprintf(format, args...), Namespace: namespace})
	}
}

func (o *Options) logStart(f *kube.Factory, namespaces []string) error {
	if o.DryRun {
		return nil // a dry run only prints plans
	}
	raw, err := f.Kubeconfig()
	if err != nil {
		return err
	}
	where := leaserecord.Where(namespaces[0])
	if len(namespaces) > 1 {
		where = "namespaces " + strings.Join(namespaces, ", ")
	}
	if current := cmp.Or(*f.Flags.Context, raw.CurrentContext); current != "" { // it is empty in a pod
		where += fmt.Sprintf(" of context %q", current)
	}
	o.Log.say("Starting the controller for %s in %s at %s. Stop with Ctrl-C.", &o.Kinds, where, o.config.Host)
	return nil
}
