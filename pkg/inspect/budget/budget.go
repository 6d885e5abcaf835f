// Package budget reads the PodDisruptionBudgets that guard pods.
package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Budget is a PodDisruptionBudget that guards pods of an object.
type Budget struct {
	Name string `json:"name"`
	// At most one of MinAvailable and MaxUnavailable is set, to a number or a percentage.
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Pods is the number of guarded pods, Healthy is the number of healthy ones, and Needed is the
	// number that must be healthy. Allowed is the number that may be disrupted now.
	Healthy int32 `json:"healthy"`
	Needed  int32 `json:"needed"`
	Pods    int32 `json:"pods"`
	Allowed int32 `json:"allowed"`
}

// String returns the budget as one line, such as "web: at least 2, disruptions allowed now: 0".
func (b Budget) String() string {
	asks := "at least " + cmp.Or(b.MinAvailable, "0")
	if b.MaxUnavailable != "" {
		asks = "at most " + b.MaxUnavailable + " unavailable"
	}
	return fmt.Sprintf("%s: %s, disruptions allowed now: %d", b.Name, asks, b.Allowed)
}

// Broken returns a message about the first budget that the removal of some healthy pods (going) would violate, or "".
// It applies a percentage to the remaining pods and rounds up, as the disruption controller does.
func Broken(all []Budget, going int32) string {
	for _, b := range all {
		pods, left := max(b.Pods-going, 0), max(b.Healthy-going, 0)
		asked := intstr.Parse(cmp.Or(b.MaxUnavailable, b.MinAvailable))
		n, err := intstr.GetScaledValueFromIntOrPercent(&asked, int(pods), true)
		required := int32(min(max(n, 0), math.MaxInt32))
		switch {
		case err != nil:
			required = b.Needed
		case b.MaxUnavailable != "":
			required = pods - required
		}
		if left < required {
			return fmt.Sprintf("PodDisruptionBudget/%s requires %s, and %d would be left", b.Name, problem.Quantity(required, "available pod"), left)
		}
	}
	return ""
}

// Of returns the budgets that guard at least one of the pods. neighbors contains all pods in the namespace, or is nil.
// If it is not nil, Of counts the guarded and healthy pods in it, because the status of a budget may be outdated.
func Of(all []policyv1.PodDisruptionBudget, pods, neighbors []*problem.Pod) []Budget {
	var found []Budget
	for i := range all {
		b := &all[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		selects := func(pod *problem.Pod) bool { return selector.Matches(labels.Set(pod.Object.Labels)) }
		if err != nil || !slices.ContainsFunc(pods, selects) {
			continue
		}
		guards := Budget{
			Name: b.Name, Healthy: b.Status.CurrentHealthy, Needed: b.Status.DesiredHealthy,
			Pods: b.Status.ExpectedPods, Allowed: b.Status.DisruptionsAllowed,
		}
		if b.Spec.MinAvailable != nil {
			guards.MinAvailable = b.Spec.MinAvailable.String()
		}
		if b.Spec.MaxUnavailable != nil {
			guards.MaxUnavailable = b.Spec.MaxUnavailable.String()
		}
		if neighbors != nil {
			guards.Pods = problem.Count(neighbors, func(pod *problem.Pod) bool { return pod.Active() && selects(pod) })
			guards.Healthy = problem.Count(neighbors, func(pod *problem.Pod) bool { return pod.Active() && pod.Ready && selects(pod) })
		}
		found = append(found, guards)
	}
	return found
}
