package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// limit is a cluster with very many items of one type.
type limit struct {
	name string // also the run label of its pods
	what string
	// namespaces are created first. pods is the final number of pods.
	namespaces []string
	pods       int
	// make creates the objects while a loop runs. The field loop holds the arguments of the loop.
	make func(ctx context.Context, l limit) error
	loop []string
	// then holds the command lines to run when all pods exist.
	then [][]string
}

// limitRow is the measured cost of one command line.
type limitRow struct {
	what, line string
	took       time.Duration
	cpu        float64 // seconds
	peak       uint64  // bytes
	requests   int
}

// limits returns the limits to measure. If few is set, they are small, for a test.
func (b *bench) limits(few bool) []limit {
	number := func(full, quick int) int {
		if few {
			return quick
		}
		return full
	}
	objects, pods, kinds, namespaces := number(10_000, 20), number(10_000, 30), number(200, 3), number(500, 3)
	spread := make([]string, namespaces)
	for i := range spread {
		spread[i] = fmt.Sprintf("limit-%d", i)
	}
	once := []string{"run-controller", "--once", "--timeout", "30m"}
	in := func(namespace string, args ...string) []string { return append(args, "-n", namespace) }
	return []limit{
		{
			name: "namespaces", what: fmt.Sprintf("%d namespaces, an object of 1 pod in each", namespaces), namespaces: spread, pods: namespaces,
			make: b.makeInEach, loop: []string{"-A"},
			then: [][]string{append(once, "-A"), append(once, "-n", strings.Join(spread, ",")), {"status", "-A"}},
		},
		{
			name: "kinds", what: fmt.Sprintf("%d declared kinds, an object of 1 pod of each", kinds), namespaces: []string{"limit-kinds"}, pods: kinds,
			make: func(ctx context.Context, l limit) error { return b.makeKinds(ctx, l, kinds) },
			loop: in("limit-kinds", "--declared-kinds"),
			then: [][]string{in("limit-kinds", append(once, "--declared-kinds")...), {"kinds"}},
		},
		{
			name: "objects", what: fmt.Sprintf("%d objects of 1 pod", objects), namespaces: []string{"limit-objects"}, pods: objects,
			make: func(ctx context.Context, l limit) error { return b.makeMany(ctx, l, objects, 1) },
			loop: in("limit-objects"),
			then: [][]string{in("limit-objects", once...), in("limit-objects", "status")},
		},
		{
			name: "pods", what: fmt.Sprintf("one object of %d pods", pods), namespaces: []string{"limit-pods"}, pods: pods,
			make: func(ctx context.Context, l limit) error { return b.makeMany(ctx, l, 1, pods) },
			loop: in("limit-pods"),
			then: [][]string{in("limit-pods", once...), in("limit-pods", "status", "pods-0")},
		},
	}
}

// measureLimits measures the limits, and writes the results into a section of a
// document.
func (b *bench) measureLimits(ctx context.Context, few bool, document string) error {
	m, err := b.describe(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	var rows []limitRow
	for _, l := range b.limits(few) {
		more, err := b.measureLimit(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.what, err)
		}
		rows = append(rows, more...)
	}
	return writeSection(document, "limits", m.text(time.Since(began))+"\n\n"+limitTable(rows))
}

func (b *bench) measureLimit(ctx context.Context, l limit) ([]limitRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.makeNamespaces(ctx, l.namespaces); err != nil {
		return nil, fmt.Errorf("create namespaces: %w", err)
	}
	made, err := b.makeLimit(ctx, l)
	if err != nil {
		return nil, err
	}
	rows := []limitRow{made}
	for _, args := range l.then {
		place, err := b.audit.end()
		if err != nil {
			return nil, err
		}
		t, err := b.time(ctx, append([]string{b.plugin}, args...)...)
		if err != nil {
			return nil, err
		}
		row := limitRow{what: l.what, line: shorten(args), took: t.Wall, cpu: t.CPU.Seconds(), peak: uint64(max(t.Peak, 0))}
		if row.requests, err = b.requestsSince(place); err != nil {
			return nil, err
		}
		rows = append(rows, row.tell())
	}
	return rows, nil
}

// makeLimit runs a loop until all pods are ready, and returns the cost.
func (b *bench) makeLimit(ctx context.Context, l limit) (row limitRow, err error) {
	watched := ""
	if len(l.namespaces) == 1 {
		watched = l.namespaces[0]
	}
	w, err := b.watchRunIn(ctx, watched, l.name, nil)
	if err != nil {
		return row, err
	}
	place, err := b.audit.end()
	if err != nil {
		return row, err
	}
	running, err := b.launch(ctx, b.ours(l.loop...))
	if err != nil {
		return row, err
	}
	defer running.stop()
	start := time.Now()
	if err := l.make(ctx, l); err != nil {
		return row, fmt.Errorf("create the objects: %w", err)
	}
	ready, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == l.pods })
	if err != nil {
		return row, fmt.Errorf("%w; %d of %d are ready; output of the loop: %s", err, w.ready, l.pods, running.words())
	}
	if err := untilStill(ctx, running); err != nil {
		return row, err
	}
	used, err := running.usage()
	if err != nil {
		return row, err
	}
	row = limitRow{what: l.what, line: shorten(append([]string{"run-controller"}, l.loop...)), took: ready.Sub(start), cpu: used.cpu, peak: used.peak}
	row.requests, err = b.requestsSince(place)
	return row.tell(), err
}

func (r limitRow) tell() limitRow {
	say("%s, %s: %.1f s, %.1f s of CPU, %d MiB, %d requests", r.what, r.line, r.took.Seconds(), r.cpu, r.peak>>20, r.requests)
	return r
}

// untilStill waits until a loop has reconciled nothing for a while.
func untilStill(ctx context.Context, l *loop) error {
	for before := -1.0; ; {
		looks, err := l.reconciles()
		if err != nil || looks == before {
			return err
		}
		before = looks
		if err := pause(ctx, veryQuiet); err != nil {
			return err
		}
	}
}

// requestsSince returns the number of requests of the plugin, except those for leases.
func (b *bench) requestsSince(place int64) (int, error) {
	requests, err := b.audit.since(place, b.ours().agent)
	n := 0
	for _, r := range requests {
		if r.Object.Resource != "leases" {
			n++
		}
	}
	return n, err
}

// shorten returns a command line short enough for a table.
func shorten(args []string) string {
	short := make([]string, len(args))
	for i, arg := range args {
		if namespaces := strings.Count(arg, ",") + 1; namespaces > 1 {
			arg = fmt.Sprintf("(all %d)", namespaces)
		}
		short[i] = arg
	}
	return "`" + strings.ReplaceAll(strings.Join(short, " "), " --timeout 30m", "") + "`"
}

// makeNamespaces creates namespaces, and waits until pods can be created in them.
func (b *bench) makeNamespaces(ctx context.Context, names []string) error {
	err := parallel(16, len(names), func(i int) error {
		_, err := b.witness.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		accounts, err := b.witness.core.ServiceAccounts("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=default"})
		if err != nil {
			return false, err
		}
		there := map[string]bool{}
		for i := range accounts.Items {
			there[accounts.Items[i].Namespace] = true
		}
		for _, name := range names {
			if !there[name] {
				return false, nil
			}
		}
		return true, nil
	})
}

// makeMany creates objects in the namespace of a limit.
func (b *bench) makeMany(ctx context.Context, l limit, n, pods int) error {
	return b.makeObjectsIn(ctx, l.namespaces[0], l.name, n, pods)
}

// makeObjectsIn creates the objects of a run.
func (b *bench) makeObjectsIn(ctx context.Context, namespace, run string, n, pods int) error {
	return parallel(16, n, func(i int) error {
		return b.makeOne(ctx, imoocPods(), namespace, fmt.Sprintf("%s-%d", run, i), b.ours().owner(run, pods))
	})
}

// makeInEach creates an object in each namespace of a limit.
func (b *bench) makeInEach(ctx context.Context, l limit) error {
	return parallel(16, len(l.namespaces), func(i int) error {
		return b.makeOne(ctx, imoocPods(), l.namespaces[i], l.name, b.ours().owner(l.name, 1))
	})
}

func (b *bench) makeOne(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, object map[string]any) error {
	object["metadata"] = map[string]any{"name": name}
	_, err := b.account.dynamic.Resource(resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	return err
}

// makeKinds declares kinds, and creates an object of each.
func (b *bench) makeKinds(ctx context.Context, l limit, n int) error {
	if err := b.declareKinds(ctx, n); err != nil {
		return err
	}
	return parallel(16, n, func(i int) error { return b.makeOfKind(ctx, i, l.namespaces[0], l.name) })
}

// declareKinds creates the CRDs of n declared kinds.
func (b *bench) declareKinds(ctx context.Context, n int) error {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return parallel(16, n, func(i int) error {
		_, err := b.account.dynamic.Resource(crds).Create(ctx, &unstructured.Unstructured{Object: declaredKind(i)}, metav1.CreateOptions{})
		return err
	})
}

// makeOfKind creates an object with one pod as soon as its declared kind is
// served.
func (b *bench) makeOfKind(ctx context.Context, kind int, namespace, name string) error {
	resource := schema.GroupVersionResource{Group: limitGroup, Version: "v1", Resource: fmt.Sprintf("limit%ds", kind)}
	return wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		err := b.makeOne(ctx, resource, namespace, name, map[string]any{
			"apiVersion": limitGroup + "/v1", "kind": fmt.Sprintf("Limit%d", kind), "spec": map[string]any{"replicas": int64(1)},
		})
		return err == nil, nil // not found until it is served
	})
}

const limitGroup = "limits.example.com"

// declaredKind returns a CRD that declares a kind. The run label of a pod is the name of its owner.
func declaredKind(i int) map[string]any {
	integer := map[string]any{"type": "integer", "format": "int32", "minimum": int64(0)}
	fields := func(names ...string) map[string]any {
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = integer
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	plural := fmt.Sprintf("limit%ds", i)
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + limitGroup, "annotations": map[string]any{
			"imoocpod.dev/plan": "pods", "imoocpod.dev/image": "nginx", "imoocpod.dev/name-label": runLabel,
		}},
		"spec": map[string]any{
			"group": limitGroup, "scope": "Namespaced",
			"names": map[string]any{"kind": fmt.Sprintf("Limit%d", i), "plural": plural, "singular": fmt.Sprintf("limit%d", i)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": fields("replicas"), "status": fields("replicas", "readyReplicas", "observedGeneration"),
				}}},
			}},
		},
	}
}

// limitTable returns the rows as a table.
func limitTable(rows []limitRow) string {
	var cells [][]string
	for i, r := range rows {
		what := r.what
		if i > 0 && rows[i-1].what == what {
			what = ""
		}
		cells = append(cells, []string{what, r.line, fmt.Sprintf("%.1f", r.took.Seconds()), fmt.Sprintf("%.1f", r.cpu),
			fmt.Sprint(r.peak >> 20), fmt.Sprint(r.requests)})
	}
	return table(2, []string{"", "command", "seconds", "CPU seconds", "peak MiB", "requests"}, cells)
}
