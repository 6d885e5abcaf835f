package play

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// Operator simulates the operator of a kind with spec.replicas and spec.template, such as ImoocPod. It
// creates and deletes pods, replaces outdated pods, records a revision of each template, and writes a status
// like the controller of this program. It does not touch the pods of a paused object.
func Operator(s *apiserver.Server, resource, kind string) {
	a := s.As(resource + "-operator")
	control(s, resource, kind, func(obj *unstructured.Unstructured) time.Duration {
		template, _, _ := unstructured.NestedMap(obj.Object, "spec", "template")
		want := number(obj, 1, "spec", "replicas")
		var labels map[string]string
		if kind == "ImoocPod" {
			labels = map[string]string{apis.LabelOwner: string(obj.GetUID())}
		}
		revision := revise(s, a, obj, labels)
		paused, _, _ := unstructured.NestedBool(obj.Object, "spec", "paused")
		pause := apis.ReadPause(obj.GetAnnotations())
		if !paused && !pause.Active(time.Now()) {
			keepPods(s, a, obj, template, revision, want)
		}
		reportObject(s, a, resource, obj, revision, want, paused)
		return pause.Left(time.Now())
	})
}

// keepPods deletes surplus and outdated pods, and creates missing ones.
func keepPods(s *apiserver.Server, a apiserver.Actor, obj *unstructured.Unstructured, template map[string]any, revision string, want int) {
	for _, pod := range owned(s, "pods", obj) {
		if ordinal(pod) >= want || pod.GetLabels()[podRevision] != revision {
			a.Delete("pods", pod.GetNamespace(), pod.GetName())
		}
	}
	for slot := range want {
		name := fmt.Sprintf("%s-%d", obj.GetName(), slot)
		if s.Get("pods", obj.GetNamespace(), name) == nil {
			createPod(a, obj, template, name, map[string]string{podRevision: revision, apis.LabelOwner: string(obj.GetUID()), apis.LabelSlot: strconv.Itoa(slot)})
		}
	}
}

func reportObject(s *apiserver.Server, a apiserver.Actor, resource string, obj *unstructured.Unstructured, revision string, want int, paused bool) {
	pods := owned(s, "pods", obj)
	updated := 0
	for _, pod := range pods {
		if pod.GetLabels()[podRevision] == revision {
			updated++
		}
	}
	n := countReady(pods)
	done := n == want && updated == want && len(pods) == want
	isReady := condition(obj, apis.ConditionReady, done, "PodsNotReady", fmt.Sprintf("%d of %d pods ready", n, want))
	progressing := condition(obj, apis.ConditionProgressing, !done, "PodsStarting", fmt.Sprintf("waiting for %d pods to become ready", want-n))
	if done {
		isReady["reason"], isReady["message"] = "PodsReady", ""
		progressing["reason"], progressing["message"] = "Converged", "all pods are up to date"
	}
	all := []any{isReady, progressing, condition(obj, apis.ConditionReplicaFailure, false, "NoFailure", "no errors while creating pods")}
	was := slices.ContainsFunc(objectsAt(obj, "status", "conditions"), func(c map[string]any) bool { return c["type"] == apis.ConditionPaused })
	if pause := apis.ReadPause(obj.GetAnnotations()); paused {
		all = append(all, condition(obj, apis.ConditionPaused, true, "Paused", "paused"))
	} else if was || pause != (apis.Pause{}) {
		c := pause.Condition(pause.Active(time.Now()))
		all = append(all, condition(obj, c.Type, c.Status == metav1.ConditionTrue, c.Reason, c.Message))
	}
	for _, c := range all {
		c, _ := c.(map[string]any)
		c["observedGeneration"] = obj.GetGeneration()
	}
	setStatus(a, resource, obj, map[string]any{
		"observedGeneration": obj.GetGeneration(), "replicas": int64(len(pods)), "updatedReplicas": int64(updated), "readyReplicas": int64(n),
		"selector": apis.LabelOwner + "=" + string(obj.GetUID()), "conditions": all,
	})
}
