package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// warnPaused warns that a change takes effect only when the pause of its object ends. If the
// object was not read, nothing is known.
func (o *commonOptions) warnPaused(t *observe.Target) {
	if t.Object == nil || !t.Kind.Reconciled() {
		return
	}
	now := time.Now()
	pause := apis.ReadPause(t.Object.GetAnnotations())
	switch {
	case !pause.Active(now):
	case !pause.Forever:
		o.tell("Warning: %s is %s; the change will be applied then", t, pause.Text(now))
	default:
		o.tell("Warning: %s is %s; the change will be applied when it is resumed", t, pause.Text(now))
		o.tell("hint: %s", o.line(commandline.Plugin("resume", t.String()).In(t.Namespace)))
	}
}

// warnOfCompetitors warns of autoscalers, budgets, and other writers before a change of the
// count. It is no reason not to make the change that they cannot be read. after returns the
// new count; an error is left to the change itself.
func (o *commonOptions) warnOfCompetitors(ctx context.Context, t *observe.Target, after func(now int64) (int32, error)) {
	report, err := observe.Competitors(ctx, o.clients, *t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for warnings", "object", t.String(), "err", err)
		return
	}
	count, err := after(int64(report.Replicas.Desired))
	if err != nil {
		return
	}
	for _, warning := range report.Warnings(count) {
		o.tell("Warning: %s: %s", t, warning)
	}
}

// loopWarner warns that no controller will act on a change. It reads the leases of
// controllers, and says nothing if it may not. A nil one, of a dry run, does nothing.
type loopWarner struct {
	commonOptions
	answer chan loopsSeen // nil until begin
	seen   *loopsSeen     // nil until the answer is there
	warned []string
}

// loopsSeen are the controllers that have a lease.
type loopsSeen struct {
	loops []leaserecord.Loop // nil: not known
	// now says that they come from a consistent read, and not from the cache of the server.
	now bool
}

// reconcile reports whether one of the controllers may act on a target.
func (s loopsSeen) reconcile(t observe.Target) bool {
	return s.loops == nil || covered(s.loops, t, time.Now())
}

// begin reads the leases while the change is made.
func (w *loopWarner) begin(ctx context.Context, t *observe.Target) {
	if w == nil || w.answer != nil || !t.Kind.Reconciled() {
		return
	}
	w.answer = make(chan loopsSeen, 1)
	target := *t // which the change may read meanwhile
	go func() {
		// A consistent list may wait up to 100 ms until the cache of the server is known to
		// be up to date (KEP-2340), and a controller that runs has been in the cache for long.
		seen := loopsSeen{loops: w.readLoops(ctx, anyVersion)}
		if !seen.reconcile(target) {
			seen = loopsSeen{w.readLoops(ctx, newestVersion), true}
		}
		w.answer <- seen
	}()
}

// The resourceVersion of a list from the cache of the server as it is, and of a consistent
// one.
const anyVersion, newestVersion = "0", ""

// warn warns once for each kind in a namespace.
func (w *loopWarner) warn(ctx context.Context, t *observe.Target) {
	if w == nil || !t.Kind.Reconciled() {
		return
	}
	if w.begin(ctx, t); w.seen == nil {
		w.seen = new(<-w.answer)
	}
	if !w.seen.now && !w.seen.reconcile(*t) { // unlike the target that they were read for
		w.seen = &loopsSeen{w.readLoops(ctx, newestVersion), true}
	}
	if w.seen.reconcile(*t) {
		return
	}
	where, start := "namespace "+t.Namespace, commandline.Plugin("run-controller").In(t.Namespace)
	if t.Kind.Clusterwide {
		where, start = "all namespaces", commandline.Plugin("run-controller", "-A")
	}
	if !t.Kind.Shipped() {
		start = start.With("--kinds", t.Kind.CRD())
	}
	warning := fmt.Sprintf("Warning: no controller runs for %s in %s. Start one with: %s", t.Kind.Resource.Resource, where, w.line(start))
	if slices.Contains(w.warned, warning) {
		return
	}
	w.warned = append(w.warned, warning)
	w.tell("%s", warning)
}

// readLoops reads the leases of all controllers as of a resourceVersion. It returns nil if
// they may not be read.
func (w *loopWarner) readLoops(ctx context.Context, resourceVersion string) []leaserecord.Loop {
	client, err := w.clients.Dynamic()
	if err != nil {
		return nil
	}
	list, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).List(ctx, metav1.ListOptions{
		LabelSelector: apis.LabelController + "=" + apis.RunController, ResourceVersion: resourceVersion,
	})
	if err != nil {
		return nil
	}
	loops := []leaserecord.Loop{}
	for i := range list.Items {
		var lease coordinationv1.Lease
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &lease); err != nil {
			return nil
		}
		loops = append(loops, process.LoopOf(&lease))
	}
	return loops
}

// covered reports whether one of the loops is alive and reconciles a target.
func covered(loops []leaserecord.Loop, t observe.Target, now time.Time) bool {
	return slices.ContainsFunc(loops, func(l leaserecord.Loop) bool {
		var labels map[string]string
		if t.Object != nil {
			labels = t.Object.GetLabels()
		} else {
			l.Scope.Selector = "" // the loop may select it
		}
		return l.Live(now) && l.Scope.Covers(t.Namespace, t.Kind.CRD(), labels)
	})
}
