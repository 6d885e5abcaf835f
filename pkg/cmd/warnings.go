package cmd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// warnPaused warns if a target that was read is paused, because a change takes effect only after the pause.
func (o *commonOptions) warnPaused(t *observe.Target) {
	if t.Object == nil || !t.Kind.Reconciled() {
		return
	}
	now := time.Now()
	pause := apis.ReadPause(t.Object.GetAnnotations())
	switch {
	case !pause.Active(now):
	case !pause.Forever:
		o.printErrf("Warning: %s is %s; the change will be applied then", t, pause.Text(now))
	default:
		o.printErrf("Warning: %s is %s; the change will be applied when it is resumed", t, pause.Text(now))
		o.printErrf("hint: %s", o.line(commandOn("resume", t)))
	}
}

// warnOfCompetitors warns about other writers (such as autoscalers), bounds, and budgets before a change of a replica
// count. after returns the new count. If a read fails or after returns an error, warnOfCompetitors prints no warnings.
func (c *cluster) warnOfCompetitors(ctx context.Context, t *observe.Target, after func(now int64) (int32, error)) {
	_, seen, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Competitors: true})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for warnings", "object", t.String(), "err", err)
		return
	}
	count, err := after(int64(seen.Report.Replicas.Desired))
	if err != nil {
		return
	}
	for _, warning := range seen.Report.Warnings(count) {
		c.printErrf("Warning: %s: %s", t, warning)
	}
}

// loopWarner warns if, according to the leases of controllers, no controller will act on a change. It does
// not warn if it cannot read the leases. A nil loopWarner, as in a dry run or with a wait, does nothing.
type loopWarner struct {
	*cluster
	// cached and current return the controllers. current needs a consistent list, which may take 100 ms
	// longer (KEP-2340), so it is called only to confirm a warning.
	cached, current func() []leaserecord.Loop
	warned          []string
}

func newLoopWarner(ctx context.Context, c *cluster) *loopWarner {
	read := func(resourceVersion string) func() []leaserecord.Loop {
		return sync.OnceValue(func() []leaserecord.Loop {
			loops, _ := holder.List(ctx, c.Leases.Leases(metav1.NamespaceAll), resourceVersion)
			return loops // nil if the leases cannot be read
		})
	}
	return &loopWarner{cluster: c, cached: read("0"), current: read("")}
}

// begin starts to read the leases in the background, so that warn rarely has to wait for them.
func (w *loopWarner) begin(t *observe.Target) {
	if w != nil && t.Kind.Reconciled() {
		go w.cached()
	}
}

func (w *loopWarner) warn(t *observe.Target) {
	if w == nil || !t.Kind.Reconciled() || covered(w.cached(), *t, time.Now()) || covered(w.current(), *t, time.Now()) {
		return
	}
	start := commandline.Plugin("run-controller").In(t.Namespace)
	if !t.Kind.Shipped() {
		start = start.With("--kinds", t.Kind.CRD())
	}
	warning := fmt.Sprintf("Warning: no controller runs for %s in namespace %s. Start one with: %s", t.Kind.Resource.Resource, t.Namespace, w.line(start))
	if !slices.Contains(w.warned, warning) {
		w.warned = append(w.warned, warning)
		w.printErrf("%s", warning)
	}
}

// covered reports whether a running controller reconciles a target. It reports true if loops is nil (unknown).
func covered(loops []leaserecord.Loop, t observe.Target, now time.Time) bool {
	return loops == nil || slices.ContainsFunc(loops, func(l leaserecord.Loop) bool {
		var labels map[string]string
		if t.Object != nil {
			labels = t.Object.GetLabels()
		} else {
			l.Scope.Selector = "" // the selector may match the labels, which were not read
		}
		return l.Live(now) && l.Scope.Covers(t.Namespace, t.Kind.CRD(), labels)
	})
}
