package status

import (
	"fmt"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// CompetingWriter resets the number of pods after a person changes it.
type CompetingWriter struct {
	// By names it, such as "HorizontalPodAutoscaler/web".
	By string `json:"by"`
	// Message says what it does, in one line.
	Message string `json:"message"`
	// Min and Max are the bounds of an autoscaler.
	Min *int32 `json:"min,omitempty"`
	Max *int32 `json:"max,omitempty"`
}

// reverts finds who will reset the number of pods.
func reverts(e Snapshot) []CompetingWriter {
	var all []CompetingWriter
	if ref := e.Object.Controller; ref != nil {
		by := ref.Kind + "/" + ref.Name
		all = append(all, CompetingWriter{By: by, Message: fmt.Sprintf("%s owns it and may reset its replica count", by)})
	}
	if e.Object.Source != nil {
		all = append(all, *e.Object.Source)
	}
	for i := range e.Autoscalers {
		h := &e.Autoscalers[i]
		if !scales(h, e.Object) {
			continue
		}
		low := int32(1)
		if h.Spec.MinReplicas != nil {
			low = *h.Spec.MinReplicas
		}
		r := CompetingWriter{By: "HorizontalPodAutoscaler/" + h.Name, Min: &low, Max: &h.Spec.MaxReplicas}
		r.Message = fmt.Sprintf("%s keeps its replica count between %d and %d", r.By, low, h.Spec.MaxReplicas)
		if ref := metav1.GetControllerOfNoCopy(h); ref != nil {
			r.Message += fmt.Sprintf(", for %s/%s", ref.Kind, ref.Name)
		}
		all = append(all, r)
	}
	return all
}

// scales reports whether an autoscaler is the object's.
func scales(h *autoscalingv2.HorizontalPodAutoscaler, o Object) bool {
	target := h.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(target.APIVersion)
	own, ownErr := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && ownErr == nil && gv.Group == own.Group && target.Kind == o.Kind && target.Name == o.Name
}

// Warnings returns why a new count may not last or is risky: who will reset it, the bounds
// that it violates, and the budgets that it cannot meet. A budget with a percentage shrinks
// with the pods.
func (r Report) Warnings(count int32) []string {
	var all []string
	for _, revert := range r.Reverts {
		all = append(all, revert.Message)
	}
	if bound := violated(r.bounds, count); bound != "" {
		all = append(all, "its controller may not use a count of "+strconv.Itoa(int(count))+": "+bound)
	}
	for _, b := range r.Budgets {
		least, err := strconv.ParseInt(b.MinAvailable, 10, 32)
		if err == nil && int64(count) < least && count < r.Replicas.Desired {
			all = append(all, fmt.Sprintf("PodDisruptionBudget/%s requires at least %d available pods, and only %d would be left", b.Name, least, count))
		}
	}
	return all
}

// Breaks returns the budget that the removal of some pods would break, "" if none. The pods
// that go count as healthy, because they are not known yet.
func (r Report) Breaks(going int32) string {
	for _, b := range r.Budgets {
		if left, required := b.After(going); left < required {
			return fmt.Sprintf("PodDisruptionBudget/%s requires %s, and %d would be left", b.Name, problem.Quantity(required, "available pod"), left)
		}
	}
	return ""
}
