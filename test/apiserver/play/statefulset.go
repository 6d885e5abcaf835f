package play

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

const podRevision = "controller-revision-hash"

// StatefulSets simulates the StatefulSet controller, without podManagementPolicy and OnDelete. It acts on one pod at a
// time, and waits for an unready pod even if the template is reverted. A new pod always gets the newest template.
func StatefulSets(s *apiserver.Server) {
	a := s.As(manager)
	control(s, "statefulsets", "StatefulSet", func(set *unstructured.Unstructured) time.Duration {
		update := revise(s, a, set, nil)
		current, found, _ := unstructured.NestedString(set.Object, "status", "currentRevision")
		if !found || current == "" {
			current = update
		}
		order(s, a, set, update)
		reportSet(s, a, set, current, update)
		return 0
	})
}

// revise creates the ControllerRevision of the template, or makes an existing one the newest, and returns its name. own
// holds additional labels. If own is nil, the data is a strategic merge patch, as for a StatefulSet.
func revise(s *apiserver.Server, a apiserver.Actor, set *unstructured.Unstructured, own map[string]string) string {
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template")
	hash := hashOf(template)
	name, last := set.GetName()+"-"+hash, 0
	var is *unstructured.Unstructured
	for _, revision := range owned(s, "controllerrevisions", set) {
		if revision.GetName() == name {
			is = revision
		}
		last = max(last, number(revision, 0, "revision"))
	}
	switch {
	case is == nil:
		labels := maps.Clone(labelsIn(template))
		if labels == nil {
			labels = map[string]string{}
		}
		labels[podRevision] = hash
		maps.Copy(labels, own)
		is = child(set, "apps/v1", "ControllerRevision", name, labels)
		if own == nil {
			template["$patch"] = "replace"
		}
		is.Object["data"], is.Object["revision"] = map[string]any{"spec": map[string]any{"template": template}}, int64(last+1)
		a.Create(is)
	case number(is, 0, "revision") < last:
		a.Update("controllerrevisions", is.GetNamespace(), name, func(revision *unstructured.Unstructured) { revision.Object["revision"] = int64(last + 1) })
	}
	return name
}

// order creates missing pods in ascending order, and deletes surplus and outdated ones in descending order.
func order(s *apiserver.Server, a apiserver.Actor, set *unstructured.Unstructured, update string) {
	want := number(set, 1, "spec", "replicas")
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template")
	for i := range want {
		name := fmt.Sprintf("%s-%d", set.GetName(), i)
		pod := s.Get("pods", set.GetNamespace(), name)
		if pod == nil {
			createPod(a, set, template, name, map[string]string{
				podRevision: update, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": strconv.Itoa(i),
			})
		}
		if pod == nil || !ready(pod) || pod.GetDeletionTimestamp() != nil {
			return
		}
	}
	pods := owned(s, "pods", set)
	slices.SortFunc(pods, func(x, y *unstructured.Unstructured) int { return ordinal(y) - ordinal(x) })
	for _, pod := range pods {
		if ordinal(pod) >= want {
			a.Delete("pods", pod.GetNamespace(), pod.GetName())
			return
		}
	}
	for _, pod := range pods {
		if ordinal(pod) < number(set, 0, "spec", "updateStrategy", "rollingUpdate", "partition") {
			return
		}
		if pod.GetLabels()[podRevision] != update {
			a.Delete("pods", pod.GetNamespace(), pod.GetName())
			return
		}
		if !ready(pod) {
			return
		}
	}
}

// ordinal returns the number at the end of a pod name.
func ordinal(pod *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(pod.GetName()[strings.LastIndex(pod.GetName(), "-")+1:])
	return n
}

func reportSet(s *apiserver.Server, a apiserver.Actor, set *unstructured.Unstructured, current, update string) {
	pods := owned(s, "pods", set)
	of := func(revision string) (n int64) {
		for _, pod := range pods {
			if pod.GetLabels()[podRevision] == revision {
				n++
			}
		}
		return n
	}
	n, want := int64(countReady(pods)), int64(number(set, 1, "spec", "replicas"))
	if of(update) == want && n == want && int64(len(pods)) == want {
		current = update
	}
	setStatus(a, "statefulsets", set, map[string]any{
		"observedGeneration": set.GetGeneration(), "replicas": int64(len(pods)), "readyReplicas": n, "availableReplicas": n,
		"currentReplicas": of(current), "updatedReplicas": of(update), "currentRevision": current, "updateRevision": update, "collisionCount": int64(0),
	})
}
