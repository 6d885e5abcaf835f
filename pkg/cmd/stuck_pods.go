package cmd

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// stuckHint says why pods of a StatefulSet must be deleted by hand.
const stuckHint = "the pod template has changed, but a StatefulSet waits for pods that are not ready before it replaces them; to replace them"

// stuckPods returns the command that deletes the pods of a StatefulSet which keep it from
// using another pod template, nil if there are none. Its controller waits until a pod is
// ready before it replaces the pod, even if the template has been mended
// (https://github.com/kubernetes/kubernetes/issues/67250).
func (o *commonOptions) stuckPods(ctx context.Context, t observe.Target) *commandline.Command {
	if t.Kind.CRD() != "statefulsets.apps" {
		return nil
	}
	t.Object = nil // as it is now
	snapshot, t, err := observe.Read(ctx, o.clients, t, observe.Extent{Depth: observe.Below})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for stuck pods", "object", t.String(), "err", err)
		return nil
	}
	if policy, _, err := unstructured.NestedString(t.Object.Object, "spec", "podManagementPolicy"); err != nil || policy == string(appsv1.ParallelPodManagement) {
		return nil
	}
	words := []string{"delete", "pod"}
	for _, pod := range status.NewReport(snapshot).Pods {
		if !pod.Ready && pod.Code != "" {
			words = append(words, pod.Name)
		}
	}
	if len(words) == 2 {
		return nil
	}
	return new(commandline.Kubectl(words...).In(t.Namespace))
}
