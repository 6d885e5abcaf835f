// Package competing finds autoscalers, controllers, and tools that may reset an object's replica count.
package competing

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Writer is an object or a tool that may reset the replica count after a user changes it.
type Writer struct {
	By      string `json:"by"`      // the name of the writer, such as "HorizontalPodAutoscaler/web"
	Message string `json:"message"` // describes in one line how the writer sets the replica count
	// Min and Max are the bounds of an autoscaler, or nil for other writers.
	Min *int32 `json:"min,omitempty"`
	Max *int32 `json:"max,omitempty"`
	// AtZero is set if an autoscaler has scaled the object to zero. Since Kubernetes 1.36, autoscalers report this in a
	// condition (https://github.com/kubernetes/enhancements/issues/2021).
	AtZero bool `json:"-"`
}

// Writers returns everything that may reset the replica count of an object: its controller, the tool that sets the
// count from a repository (source), and the autoscalers that target the object. controller and source can be nil.
func Writers(o autoscalingv2.CrossVersionObjectReference, controller *metav1.OwnerReference, source *Writer,
	autoscalers []autoscalingv2.HorizontalPodAutoscaler,
) []Writer {
	var all []Writer
	if controller != nil && controller.Kind != "CronJob" { // a CronJob never changes its Jobs
		by := controller.Kind + "/" + controller.Name
		all = append(all, Writer{By: by, Message: fmt.Sprintf("%s owns it and may reset its replica count", by)})
	}
	if source != nil {
		all = append(all, *source)
	}
	own := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	for i := range autoscalers {
		h := &autoscalers[i]
		target := h.Spec.ScaleTargetRef
		gv, err := schema.ParseGroupVersion(target.APIVersion)
		if err != nil || gv.WithKind(target.Kind).GroupKind() != own || target.Name != o.Name {
			continue // an autoscaler can name the object in any version of its group
		}
		low := ptr.Deref(h.Spec.MinReplicas, 1)
		w := Writer{By: "HorizontalPodAutoscaler/" + h.Name, Min: &low, Max: &h.Spec.MaxReplicas}
		w.Message = fmt.Sprintf("%s keeps its replica count between %d and %d", w.By, low, h.Spec.MaxReplicas)
		if ref := metav1.GetControllerOfNoCopy(h); ref != nil {
			w.Message += fmt.Sprintf(", for %s/%s", ref.Kind, ref.Name)
		}
		w.AtZero = slices.ContainsFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue
		})
		all = append(all, w)
	}
	return all
}
