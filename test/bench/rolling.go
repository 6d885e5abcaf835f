package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const rollingNamespace = "bench-rolling"

// measureRolling replaces the pods of an ImoocPod and of a StatefulSet alternately.
func (b *bench) measureRolling(ctx context.Context) []goal {
	pods := sized(b, 500, 12)
	theirs := b.unlimited("StatefulSet", "StatefulSet", "statefulset-controller").in(rollingNamespace)
	subjects := []subject{b.oursIn(ctx, rollingNamespace), theirs}
	took := map[string][]float64{}
	alternate(sized(b, 3, 1), subjects, func(round int, s subject) {
		run := fmt.Sprintf("rolled-%d-%s", round, strings.ToLower(s.kind))
		took[s.kind] = append(took[s.kind], b.roll(ctx, s, run, pods))
	})
	what := fmt.Sprintf("rolling replacement of the %d pods of an ImoocPod, beside a StatefulSet", pods)
	return []goal{ratioGoal(what, 1.1, beside("%.2f ×", took["ImoocPod"], took["StatefulSet"]))}
}

// rolledObject returns an object that allows a quarter of its pods to be unavailable, as ImoocPods always do.
func rolledObject(s subject, run string, pods int) *unstructured.Unstructured {
	object := s.owner(run, pods)
	if spec, ok := object.Object["spec"].(map[string]any); ok && s.kind == "StatefulSet" {
		spec["serviceName"], spec["podManagementPolicy"] = run, "Parallel"
		spec["updateStrategy"] = map[string]any{
			"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "25%"},
		}
	}
	return object
}

// roll creates an object, and changes its template. It returns the seconds until all pods are new and ready.
func (b *bench) roll(ctx context.Context, s subject, run string, pods int) float64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := b.watchRun(ctx, s, run)
	l := b.launch(ctx, s)
	defer l.stop()
	made := b.create(ctx, s, rolledObject(s, run, pods))
	bound, _, _ := unstructured.NestedString(made.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	if s.kind == "StatefulSet" && bound == "" {
		check(errors.New("the server does not support maxUnavailable of a StatefulSet: run \"make bench PART=loop\""))
	}
	w.untilReady(ctx, pods)
	pause(ctx, veryQuiet) // until the statuses are written
	start := time.Now()
	b.patch(ctx, s, run, `{"spec":{"template":{"metadata":{"annotations":{"rolled":"yes"}}}}}`)
	done := w.until(ctx, "all pods are new and ready", func() bool {
		return len(w.pods) == pods && w.renewed(start) == pods
	})
	b.delete(ctx, s, run)
	w.untilReady(ctx, 0)
	return done.Sub(start).Seconds()
}
