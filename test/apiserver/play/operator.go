package play

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// Operator plays the operator of a kind with spec.replicas and spec.template, such as
// ImoocPods: it keeps the pods, replaces outdated ones, and writes a status like that of
// the controller of this program.
func Operator(s *apiserver.Server, resource, kind string) {
	a := s.As(resource + "-operator")
	control(s, resource, kind, func(obj *unstructured.Unstructured) time.Duration {
		template, _, _ := unstructured.NestedMap(obj.Object, "spec", "template")
		want, hash := number(obj, 1, "spec", "replicas"), hashOf(template)
		updated := 0
		for _, pod := range owned(s, "pods", obj) {
			if slot := ordinal(pod); slot >= want || pod.GetLabels()[hashLabel] != hash {
				a.Delete("pods", pod.GetNamespace(), pod.GetName())
			}
		}
		for slot := range want {
			name := fmt.Sprintf("%s-%d", obj.GetName(), slot)
			if s.Get("pods", obj.GetNamespace(), name) == nil {
				createPod(a, obj, template, name, map[string]string{hashLabel: hash, apis.LabelOwner: string(obj.GetUID()), apis.LabelSlot: strconv.Itoa(slot)})
			}
		}
		pods := owned(s, "pods", obj)
		for _, pod := range pods {
			if pod.GetLabels()[hashLabel] == hash {
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
		failure := condition(obj, apis.ConditionReplicaFailure, false, "NoFailure", "no errors while creating pods")
		all := []any{isReady, progressing, failure}
		for _, c := range []map[string]any{isReady, progressing, failure} {
			c["observedGeneration"] = obj.GetGeneration()
		}
		setStatus(a, resource, obj, map[string]any{
			"observedGeneration": obj.GetGeneration(), "replicas": int64(len(pods)), "updatedReplicas": int64(updated), "readyReplicas": int64(n),
			"selector": apis.LabelOwner + "=" + string(obj.GetUID()), "conditions": all,
		})
		return 0
	})
}
