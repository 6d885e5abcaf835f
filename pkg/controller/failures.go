package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// logFailures logs why pods of an object will not become ready without help: each
// reason once, until something is done for the object.
func (c *Controller) logFailures(k memory.Key, o *owners, obj *unstructured.Unstructured) {
	pods, err := c.pods.GetIndexer().ByIndex(o.strategy.PodIndex, string(obj.GetUID()))
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return
	}
	active, ready := 0, 0
	var failing []*strategy.PodRecord
	for _, pod := range pods {
		r, ok := pod.(*strategy.PodRecord)
		if !ok || r.Namespace != k.Namespace {
			continue
		}
		if r.Pod.Active() {
			active++
			if r.Pod.Ready {
				ready++
			}
		}
		if r.FailureCode != "" {
			failing = append(failing, r)
		}
	}
	desired := active
	if !o.kind.Mapping.Strategy.WithoutReplicas() {
		if n, err := o.kind.Desired(obj); err == nil {
			desired = int(n)
		}
	}
	for _, r := range failing {
		if c.memory.NewFailure(k, string(r.FailureCode)) {
			c.report.LogObject(k, "%d of %d pods ready: %s", ready, desired, r.Failure)
		}
	}
}
