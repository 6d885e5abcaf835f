package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/process"
)

// loopWarner warns that no controller will act on a change. It reads the leases of
// controllers once, and says nothing where they may not be read.
type loopWarner struct {
	client dynamic.Interface
	out    io.Writer

	answer chan []leaserecord.Loop // nil until begin
	read   bool
	loops  []leaserecord.Loop // nil: not known
	warned []string
}

// begin reads the leases while the change is made, where they will matter.
func (w *loopWarner) begin(ctx context.Context, t observe.Target) {
	if !t.Kind.Reconciled() || w.answer != nil {
		return
	}
	w.answer = make(chan []leaserecord.Loop, 1)
	go func() { w.answer <- readLoops(ctx, w.client) }()
}

// warn warns once for each kind in a namespace.
func (w *loopWarner) warn(ctx context.Context, t observe.Target) {
	if !t.Kind.Reconciled() {
		return
	}
	if w.begin(ctx, t); !w.read {
		w.read, w.loops = true, <-w.answer
	}
	if w.loops == nil || covered(w.loops, t, time.Now()) {
		return
	}
	where, flags := "namespace "+t.Namespace, "-n "+t.Namespace
	if t.Kind.Clusterwide {
		where, flags = "all namespaces", "-A"
	}
	if !t.Kind.Shipped() {
		flags += " --kinds " + t.Kind.CRD()
	}
	warning := fmt.Sprintf("Warning: no controller runs for %s in %s. Start one with: %s run-controller %s", t.Kind.Resource.Resource, where, programName, flags)
	if slices.Contains(w.warned, warning) {
		return
	}
	w.warned = append(w.warned, warning)
	_ = escape.PrintLine(w.out, "%s", warning) // the change is made, and that is what matters
}

// readLoops reads the leases of all controllers, nil where that is not allowed.
func readLoops(ctx context.Context, client dynamic.Interface) []leaserecord.Loop {
	list, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).List(ctx, metav1.ListOptions{
		LabelSelector: apis.LabelController + "=" + apis.RunController,
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
		if t.Object == nil {
			// Its labels are not known: the loop may select it.
			l.Scope.Selector = ""
		}
		return l.Live(now) && l.Scope.Covers(t.Namespace, t.Kind.CRD(), labelsOf(t))
	})
}

func labelsOf(t observe.Target) map[string]string {
	if t.Object == nil {
		return nil
	}
	return t.Object.GetLabels()
}
