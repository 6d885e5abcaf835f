package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// churnPeriod is the interval at which a node is added or removed.
const churnPeriod = 100 * time.Millisecond

// onNodes is the cost of an object with a pod on every node.
type onNodes struct {
	kind string
	// ready holds the seconds until all pods were ready, one value per round.
	ready []float64
	// churn is the CPU usage while nodes were added and removed, in percent of a
	// core.
	churn float64
}

const nodesNamespace = "bench-nodes"

// measureNodes runs a pod on each of many nodes, alternately with a MyDaemonSet
// and a DaemonSet, and then adds and removes nodes.
func (b *bench) measureNodes(ctx context.Context, todo loopAgenda) (p part, err error) {
	const ns = nodesNamespace
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	nodes, err := b.makeNodes(ctx, todo.nodes)
	if err != nil {
		return p, fmt.Errorf("create nodes: %w", err)
	}
	ours := b.ours("-n", ns)
	ours.resource, ours.kind = myDaemonSets(), "MyDaemonSet"
	ours.apiVersion = ours.resource.GroupVersion().String()
	subjects := []subject{ours, b.managed("DaemonSet", "daemonsets", "daemonset-controller")}
	all := map[string]*onNodes{}
	for _, s := range subjects {
		all[s.kind] = &onNodes{kind: s.kind}
	}
	for round := range todo.nodeRounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)] // alternate, so that drift affects both
			churn := time.Duration(0)
			if round == todo.nodeRounds-1 {
				churn = todo.churn
			}
			if err := b.spreadOut(ctx, s, ns, fmt.Sprintf("nodes-%d-%d", round, i), nodes, churn, all[s.kind]); err != nil {
				return p, fmt.Errorf("%s: %w", s.kind, err)
			}
		}
	}
	mine, theirs := all["MyDaemonSet"], all["DaemonSet"]
	p.beside(fmt.Sprintf("MyDaemonSet on %d nodes, beside a DaemonSet", nodes), mine.ready, theirs.ready, 1.05)
	p.hold(5, figure{fmt.Sprintf("%.0f nodes come or go per second: CPU time of the controller", float64(time.Second/churnPeriod)), "%.1f", " % of a core", []float64{mine.churn}})
	return p, b.removeNodes(ctx, todo.nodes)
}

// spreadOut creates an object, waits for its pods, and removes the object. If churn is not
// zero, it adds and removes nodes for that long in between. It adds the measurements to got.
func (b *bench) spreadOut(ctx context.Context, s subject, ns, run string, nodes int, churn time.Duration, got *onNodes) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects := b.account.dynamic.Resource(s.resource).Namespace(ns)
	w, err := b.watchLabeled(ctx, ns, "app="+run, nil)
	if err != nil {
		return err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return err
	}
	defer l.stop()
	// Wait until the program has read the nodes.
	if err := pause(ctx, veryQuiet); err != nil {
		return err
	}
	start := time.Now()
	if _, err := objects.Create(ctx, &unstructured.Unstructured{Object: objectOnNodes(s, run)}, metav1.CreateOptions{}); err != nil {
		return err
	}
	ready, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == nodes })
	if err != nil {
		return fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	got.ready = append(got.ready, ready.Sub(start).Seconds())
	if churn > 0 {
		if err := b.measureChurn(ctx, l, run, churn, got); err != nil {
			return err
		}
	}
	if err := objects.Delete(ctx, run, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if churn > 0 {
		// The pods of removed nodes are garbage collected late, so delete all pods.
		return b.witness.core.Pods(ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{})
	}
	_, err = w.until(ctx, "all pods are gone", func() bool { return len(w.pods) == 0 })
	return err
}

func myDaemonSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps.zhongmingmao.io", Version: "v1beta1", Resource: "mydaemonsets"}
}

// objectOnNodes returns an object with a pod on every node.
func objectOnNodes(s subject, name string) map[string]any {
	object := map[string]any{"apiVersion": s.apiVersion, "kind": s.kind, "metadata": map[string]any{"name": name}}
	if s.kind == "MyDaemonSet" {
		object["spec"] = map[string]any{"image": "nginx"}
		return object
	}
	labels := map[string]any{"app": name}
	object["spec"] = map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "nginx"}}},
	}}
	return object
}

// measureChurn adds and removes nodes for d, and sets got.churn.
func (b *bench) measureChurn(ctx context.Context, l *loop, run string, d time.Duration, got *onNodes) error {
	if err := pause(ctx, veryQuiet); err != nil {
		return err
	}
	before, err := l.usage()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := b.churnNodes(ctx, run, d); err != nil {
		return err
	}
	after, err := l.usage()
	got.churn = 100 * (after.cpu - before.cpu) / time.Since(start).Seconds()
	return err
}

// churnNodes adds and removes nodes for d.
func (b *bench) churnNodes(ctx context.Context, run string, d time.Duration) error {
	ticker := time.NewTicker(churnPeriod)
	defer ticker.Stop()
	nodes := b.witness.core.Nodes()
	name := func(i int) string { return fmt.Sprintf("%s-churn-%d", run, i) }
	// A node is removed after about a second, when it has its pod.
	const stay = 5
	i := 0
	for end := time.Now().Add(d); time.Now().Before(end); i++ {
		if _, err := nodes.Create(ctx, simulatedNode(name(i)), metav1.CreateOptions{}); err != nil {
			return err
		}
		<-ticker.C
		if i >= stay {
			if err := nodes.Delete(ctx, name(i-stay), metav1.DeleteOptions{}); err != nil {
				return err
			}
			<-ticker.C
		}
	}
	for j := max(0, i-stay); j < i; j++ {
		if err := nodes.Delete(ctx, name(j), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// makeNodes creates nodes, waits until pods can be scheduled to all, and returns
// their total number.
func (b *bench) makeNodes(ctx context.Context, n int) (int, error) {
	nodes := b.witness.core.Nodes()
	err := parallel(16, n, func(i int) error {
		_, err := nodes.Create(ctx, simulatedNode(fmt.Sprintf("bench-%d", i)), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	all := 0
	return all, wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		list, err := nodes.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		all = len(list.Items)
		for i := range list.Items {
			if len(list.Items[i].Spec.Taints) > 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// removeNodes removes the nodes that makeNodes created.
func (b *bench) removeNodes(ctx context.Context, n int) error {
	return parallel(16, n, func(i int) error {
		err := b.witness.core.Nodes().Delete(ctx, fmt.Sprintf("bench-%d", i), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// simulatedNode returns a node that kwok simulates.
func simulatedNode(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("4Ti"), corev1.ResourcePods: resource.MustParse("5000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}
