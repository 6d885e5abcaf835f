// Package competing finds who else sets the number of pods of an object.
package competing

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Writer resets the number of pods after a person changes it.
type Writer struct {
	// By names it, such as "HorizontalPodAutoscaler/web".
	By string `json:"by"`
	// Message describes what it does, in one line.
	Message string `json:"message"`
	// Min and Max are the bounds of an autoscaler.
	Min *int32 `json:"min,omitempty"`
	Max *int32 `json:"max,omitempty"`
}

// Object is the object whose pods are counted.
type Object struct {
	APIVersion, Kind, Name string
	// Controller is the object that controls this one, and Source the tool that sets its count
	// from a repository; nil if there is none.
	Controller *metav1.OwnerReference
	Source     *Writer
}

// Writers finds who will reset the number of pods of an object, given all autoscalers of its
// namespace.
func Writers(o Object, autoscalers []autoscalingv2.HorizontalPodAutoscaler) []Writer {
	var all []Writer
	if ref := o.Controller; ref != nil {
		by := ref.Kind + "/" + ref.Name
		all = append(all, Writer{By: by, Message: fmt.Sprintf("%s owns it and may reset its replica count", by)})
	}
	if o.Source != nil {
		all = append(all, *o.Source)
	}
	for i := range autoscalers {
		h := &autoscalers[i]
		if !scales(h, o) {
			continue
		}
		low := int32(1)
		if h.Spec.MinReplicas != nil {
			low = *h.Spec.MinReplicas
		}
		w := Writer{By: "HorizontalPodAutoscaler/" + h.Name, Min: &low, Max: &h.Spec.MaxReplicas}
		w.Message = fmt.Sprintf("%s keeps its replica count between %d and %d", w.By, low, h.Spec.MaxReplicas)
		if ref := metav1.GetControllerOfNoCopy(h); ref != nil {
			w.Message += fmt.Sprintf(", for %s/%s", ref.Kind, ref.Name)
		}
		all = append(all, w)
	}
	return all
}

// ZeroBy returns the autoscaler that has scaled an object to zero, "" if none has. It reports
// that in a condition since Kubernetes 1.36
// (https://github.com/kubernetes/enhancements/issues/2021).
func ZeroBy(o Object, autoscalers []autoscalingv2.HorizontalPodAutoscaler) string {
	for i := range autoscalers {
		h := &autoscalers[i]
		reports := slices.ContainsFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue
		})
		if reports && scales(h, o) {
			return "HorizontalPodAutoscaler/" + h.Name
		}
	}
	return ""
}

// scales reports whether an autoscaler is the object's.
func scales(h *autoscalingv2.HorizontalPodAutoscaler, o Object) bool {
	target := h.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(target.APIVersion)
	own, ownErr := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && ownErr == nil && gv.Group == own.Group && target.Kind == o.Kind && target.Name == o.Name
}
