package discover

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// GetScale reads the /scale subresource of an object.
func GetScale(ctx context.Context, client dynamic.ResourceInterface, name string) (*autoscalingv1.Scale, error) {
	return toScale(client.Get(ctx, name, metav1.GetOptions{}, "scale"))
}

// SetScale sets the count through /scale. If resourceVersion is set and does not match, the error is a conflict.
func SetScale(ctx context.Context, client dynamic.ResourceInterface, name string, replicas int32, resourceVersion string, dryRun []string) (*autoscalingv1.Scale, error) {
	change := map[string]any{"spec": map[string]any{"replicas": replicas}}
	if resourceVersion != "" {
		change["metadata"] = map[string]any{"resourceVersion": resourceVersion}
	}
	patch, _ := json.Marshal(change) // cannot fail
	options := metav1.PatchOptions{FieldManager: kinds.FieldManager, DryRun: dryRun}
	return toScale(client.Patch(ctx, name, types.MergePatchType, patch, options, "scale"))
}

// toScale converts the response to a request for a scale. It returns err if the request failed.
func toScale(obj *unstructured.Unstructured, err error) (*autoscalingv1.Scale, error) {
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, scale); err != nil {
		return nil, fmt.Errorf("read the scale: %w", err)
	}
	return scale, nil
}
