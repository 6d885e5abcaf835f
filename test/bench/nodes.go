package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// churnPeriod is the interval between node changes.
const churnPeriod = 100 * time.Millisecond

const nodesNamespace = "bench-nodes"

// measureNodes runs a pod on each of many nodes, alternately with a MyDaemonSet and a DaemonSet. In
// the last round, it also adds and removes nodes.
func (b *bench) measureNodes(ctx context.Context) []goal {
	added, rounds, churn := sized(b, 1000, 10), sized(b, 2, 1), sized(b, 20*time.Second, 2*time.Second)
	nodes := b.makeNodes(ctx, added)
	ours := b.oursIn(ctx, nodesNamespace)
	ours.resource, ours.kind = myDaemonSets(), "MyDaemonSet"
	subjects := []subject{ours, b.unlimited("DaemonSet", "DaemonSet", "daemonset-controller").in(nodesNamespace)}
	seconds, percent := map[string][]float64{}, map[string]float64{}
	alternate(rounds, subjects, func(round int, s subject) {
		last := time.Duration(0)
		if round == rounds-1 {
			last = churn
		}
		took, busy := b.spreadOut(ctx, s, fmt.Sprintf("nodes-%d-%s", round, strings.ToLower(s.kind)), nodes, last)
		seconds[s.kind], percent[s.kind] = append(seconds[s.kind], took), busy
	})
	b.removeNodes(ctx, added)
	perSecond := float64(time.Second / churnPeriod)
	return []goal{
		ratioGoal(fmt.Sprintf("MyDaemonSet on %d nodes, beside a DaemonSet", nodes), 1.05,
			beside("%.2f ×", seconds["MyDaemonSet"], seconds["DaemonSet"])),
		medianGoal(fmt.Sprintf("%.0f nodes come or go per second: CPU time of the controller", perSecond), 5, "%.1f",
			" % of a core", percent["MyDaemonSet"]),
	}
}

// spreadOut creates an object, waits for its pods, and deletes the object. If churn is not zero, it
// adds and removes nodes for that time before the deletion. It returns the seconds until all pods
// were ready, and the CPU usage during the churn in percent of a core.
func (b *bench) spreadOut(
	ctx context.Context, s subject, run string, nodes int, churn time.Duration,
) (seconds, percent float64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := b.watch(ctx, nodesNamespace, "app="+run)
	l := b.launch(ctx, s)
	defer l.stop()
	pause(ctx, veryQuiet) // until the program has read the nodes
	start := time.Now()
	b.create(ctx, s, objectOnNodes(s, run))
	seconds = w.untilReady(ctx, nodes).Sub(start).Seconds()
	if churn == 0 {
		b.delete(ctx, s, run)
		w.untilReady(ctx, 0)
		return seconds, 0
	}
	pause(ctx, veryQuiet)
	before, start := l.usage(), time.Now()
	b.churnNodes(ctx, run, churn)
	percent = 100 * (l.usage().cpu - before.cpu) / time.Since(start).Seconds()
	b.delete(ctx, s, run)
	// Garbage collection of pods on removed nodes takes a long time, so delete all pods.
	check(b.witness.core.Pods(nodesNamespace).DeleteCollection(ctx, atZero(), metav1.ListOptions{}))
	return seconds, percent
}

func myDaemonSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps.zhongmingmao.io", Version: "v1beta1", Resource: "mydaemonsets"}
}

// objectOnNodes returns an object with a pod on every node.
func objectOnNodes(s subject, name string) *unstructured.Unstructured {
	object := s.object(name)
	if s.kind == "MyDaemonSet" {
		object.Object["spec"] = map[string]any{"image": "nginx"}
		return object
	}
	labels := map[string]any{"app": name}
	object.Object["spec"] = map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "nginx"}}},
	}}
	return object
}

func (b *bench) churnNodes(ctx context.Context, run string, d time.Duration) {
	ticker := time.NewTicker(churnPeriod)
	defer ticker.Stop()
	name := func(i int) string { return fmt.Sprintf("%s-churn-%d", run, i) }
	// Remove a node after about a second, when its pod exists.
	const stay = 5
	i := 0
	for end := time.Now().Add(d); time.Now().Before(end); i++ {
		b.createNode(ctx, name(i))
		<-ticker.C
		if i >= stay {
			b.removeNode(ctx, name(i-stay))
			<-ticker.C
		}
	}
	for j := max(0, i-stay); j < i; j++ {
		b.removeNode(ctx, name(j))
	}
}

// makeNodes creates n nodes, waits until no node has a taint, and returns the total number of nodes.
func (b *bench) makeNodes(ctx context.Context, n int) (all int) {
	parallel(atOnce, n, func(i int) { b.createNode(ctx, fmt.Sprintf("bench-%d", i)) })
	await(ctx, time.Second, "pods can be scheduled to all nodes", func() bool {
		list := must(b.witness.core.Nodes().List(ctx, metav1.ListOptions{}))
		all = len(list.Items)
		for i := range list.Items {
			if len(list.Items[i].Spec.Taints) > 0 {
				return false
			}
		}
		return true
	})
	return all
}

func (b *bench) removeNodes(ctx context.Context, n int) {
	parallel(atOnce, n, func(i int) { b.removeNode(ctx, fmt.Sprintf("bench-%d", i)) })
}

func (b *bench) removeNode(ctx context.Context, name string) {
	if err := b.witness.core.Nodes().Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		check(err)
	}
}

// createNode creates a node that kwok simulates.
func (b *bench) createNode(ctx context.Context, name string) {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourcePods: resource.MustParse("5000"),
	}
	must(b.witness.core.Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}, metav1.CreateOptions{}))
}
