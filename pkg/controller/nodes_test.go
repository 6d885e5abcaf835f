package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Each eligible node has one pod, even after nodes are created, changed, or deleted. Heartbeats of nodes
// and of pods cause no reconcile (I3 in docs/reliability.md).
func TestNodesPlan(t *testing.T) {
	agent := kinds.MyDaemonSet()
	inWorld(t, []kinds.Kind{agent}, func(w *world) {
		foo := w.create(agent, "default", "foo", ofAnyKind(agent, "web"))
		// podsOn waits until only these nodes have a pod, one each, and the pod counts in the status equal desired.
		podsOn := func(desired int64, nodes ...string) {
			t.Helper()
			w.until(func() string {
				var on []string
				for _, pod := range children(w.Actor, foo) {
					on = append(on, onlyNode(t, pod))
				}
				if slices.Sort(on); !slices.Equal(on, nodes) {
					return fmt.Sprintf("there are pods on %v, want %v", on, nodes)
				}
				status := agent.Mapping.Status
				for _, path := range [][]string{status.Desired, status.Current, status.Updated, status.Available} {
					if n, _, _ := unstructured.NestedInt64(w.Get(agent.CRD(), "default", "foo").Object, path...); n != desired {
						return fmt.Sprintf("status field %v is %d, want %d", path, n, desired)
					}
				}
				return ""
			})
		}
		taint := func(taints ...any) {
			w.Update("nodes", "", "node-2", func(node *unstructured.Unstructured) { set(node, taints, "spec", "taints") })
		}
		w.start()
		podsOn(1, "node-1")
		w.CreateYAML("{apiVersion: v1, kind: Node, metadata: {name: node-2}}")
		podsOn(2, "node-1", "node-2")

		w.passes(time.Minute)
		reconciles := w.reconciles()
		w.Update("nodes", "", "node-2", func(node *unstructured.Unstructured) {
			node.SetAnnotations(map[string]string{"a": "b"})
			set(node, "now", "status", "heartbeat")
		})
		w.Update("pods", "default", children(w.Actor, foo)[0].GetName(), func(pod *unstructured.Unstructured) {
			set(pod, "a heartbeat", "status", "message")
		})
		w.passes(time.Minute)
		if now := w.reconciles(); now != reconciles {
			t.Errorf("%d reconciles after heartbeats, want none", now-reconciles)
		}

		taint(map[string]any{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}) // as "kubectl cordon" does
		w.passes(time.Minute)
		podsOn(2, "node-1", "node-2")
		taint(map[string]any{"key": "gpu", "effect": "NoSchedule"})
		podsOn(1, "node-1", "node-2")
		taint(map[string]any{"key": "gpu", "effect": "NoExecute"})
		podsOn(1, "node-1")
		taint()
		podsOn(2, "node-1", "node-2")
		w.Remove("nodes", "", "node-2")
		podsOn(1, "node-1")
		w.converges()
		w.staysQuiet()
	})
}

// onlyNode returns the node that a pod requires.
func onlyNode(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &pod); err != nil {
		t.Fatal(err)
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) != 1 || len(terms[0].MatchFields[0].Values) != 1 {
		t.Fatalf("pod %s requires %v, want one node", pod.Name, terms)
	}
	return terms[0].MatchFields[0].Values[0]
}
