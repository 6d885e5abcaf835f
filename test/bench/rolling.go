package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// managed returns a built-in controller without rate limits, for a type of the
// group apps.
func (b *bench) managed(kind, resource, controller string) subject {
	s := b.controllerManager(kind, controller, "--kube-api-qps=100000", "--kube-api-burst=100000")
	s.resource, s.kind = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}, kind
	return s
}

// rolledObject returns an object that replaces a quarter of its pods at a time,
// which is the default of an ImoocPod.
func rolledObject(s subject, run string, pods int) map[string]any {
	object := s.owner(run, pods)
	if spec, ok := object["spec"].(map[string]any); ok && s.kind == "StatefulSet" {
		spec["serviceName"], spec["podManagementPolicy"] = run, "Parallel"
		spec["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "25%"}}
	}
	return object
}

const rollingNamespace = "bench-rolling"

// measureRolling replaces the pods of an ImoocPod and of a StatefulSet,
// alternately.
func (b *bench) measureRolling(ctx context.Context, todo loopAgenda) (p part, err error) {
	const ns = rollingNamespace
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	subjects := []subject{b.ours("-n", ns), b.managed("StatefulSet", "statefulsets", "statefulset-controller")}
	took := map[string][]float64{}
	for round := range todo.rolledRounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)] // alternate, so that drift affects both
			seconds, err := b.roll(ctx, s, ns, fmt.Sprintf("rolled-%d-%d", round, i), todo.rolled)
			if err != nil {
				return p, fmt.Errorf("%s: %w", s.kind, err)
			}
			took[s.kind] = append(took[s.kind], seconds)
		}
	}
	p.beside(fmt.Sprintf("rolling replacement of the %d pods of an ImoocPod, beside a StatefulSet", todo.rolled), took["ImoocPod"], took["StatefulSet"], 1.1)
	return p, nil
}

// roll creates an object, and changes its template. It returns the seconds until
// all pods were new and ready.
func (b *bench) roll(ctx context.Context, s subject, ns, run string, pods int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects := b.account.dynamic.Resource(s.resource).Namespace(ns)
	w, err := b.watchRunIn(ctx, ns, run, nil)
	if err != nil {
		return 0, err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return 0, err
	}
	defer l.stop()
	made, err := objects.Create(ctx, &unstructured.Unstructured{Object: rolledObject(s, run, pods)}, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	if bound, _, _ := unstructured.NestedString(made.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"); s.kind == "StatefulSet" && bound == "" {
		return 0, errors.New("the server does not support maxUnavailable of a StatefulSet: run \"make bench PART=loop\"")
	}
	if _, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == pods }); err != nil {
		return 0, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	// Wait until the statuses are written.
	if err := pause(ctx, veryQuiet); err != nil {
		return 0, err
	}
	start := time.Now()
	if _, err := objects.Patch(ctx, run, types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"annotations":{"rolled":"yes"}}}}}`), metav1.PatchOptions{}); err != nil {
		return 0, err
	}
	done, err := w.until(ctx, "all pods are new and ready", func() bool { return len(w.pods) == pods && w.renewed(start) == pods })
	if err != nil {
		return 0, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	if err := objects.Delete(ctx, run, metav1.DeleteOptions{}); err != nil {
		return 0, err
	}
	_, err = w.until(ctx, "all pods are gone", func() bool { return len(w.pods) == 0 })
	return done.Sub(start).Seconds(), err
}
