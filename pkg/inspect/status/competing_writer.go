package status

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

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

// Budget is a PodDisruptionBudget over pods of the object.
type Budget struct {
	Name string `json:"name"`
	// MinAvailable or MaxUnavailable is a number or a percentage.
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Healthy of Pods are healthy, Needed must be, and Allowed may be disrupted now.
	Healthy int32 `json:"healthy"`
	Needed  int32 `json:"needed"`
	Pods    int32 `json:"pods"`
	Allowed int32 `json:"allowed"`
}

// String returns the budget in a line: "web: at least 2, disruptions allowed now: 0".
func (b Budget) String() string {
	asks := "at least " + b.MinAvailable
	if b.MaxUnavailable != "" {
		asks = "at most " + b.MaxUnavailable + " unavailable"
	}
	return fmt.Sprintf("%s: %s, disruptions allowed now: %d", b.Name, asks, b.Allowed)
}

// After returns how many pods would be left healthy, and how many the budget would require,
// if some healthy ones went for good. Without them, the budget expects fewer pods, so a
// percentage requires fewer. It is rounded up, as by the disruption controller.
func (b Budget) After(going int32) (left, required int32) {
	pods := max(b.Pods-going, 0)
	word := b.MinAvailable
	if b.MaxUnavailable != "" {
		word = b.MaxUnavailable
	}
	asked := intstr.Parse(word)
	n, err := intstr.GetScaledValueFromIntOrPercent(&asked, int(pods), true)
	required = int32(min(max(n, 0), math.MaxInt32))
	switch {
	case err != nil:
		required = b.Needed
	case b.MaxUnavailable != "":
		required = max(pods-required, 0)
	}
	return max(b.Healthy-going, 0), required
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

// budgets finds the budgets over an object's pods.
func budgets(all []policyv1.PodDisruptionBudget, pods Pods) []Budget {
	var found []Budget
	for i := range all {
		b := &all[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !slices.ContainsFunc(pods, func(pod *PodInfo) bool { return selector.Matches(labels.Set(pod.Pod.Labels)) }) {
			continue
		}
		budget := Budget{
			Name: b.Name, Healthy: b.Status.CurrentHealthy, Needed: b.Status.DesiredHealthy,
			Pods: b.Status.ExpectedPods, Allowed: b.Status.DisruptionsAllowed,
		}
		if b.Spec.MinAvailable != nil {
			budget.MinAvailable = b.Spec.MinAvailable.String()
		}
		if b.Spec.MaxUnavailable != nil {
			budget.MaxUnavailable = b.Spec.MaxUnavailable.String()
		}
		found = append(found, budget)
	}
	return found
}

// Warnings returns what is against another number of pods: who will reset it, and the
// budgets that so few pods cannot meet. A budget with a percentage shrinks with the pods.
func (r Report) Warnings(count int32) []string {
	var all []string
	for _, revert := range r.Reverts {
		all = append(all, revert.Message)
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
