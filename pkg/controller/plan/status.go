package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// statusInterval is how often a status that is neither the first of a
// generation nor the last of a convergence is written at the most.
const statusInterval = time.Second

// decideStatus computes the owner's status and whether it is written now.
func (p *Plan) decideStatus(v View) {
	p.Status = statusOf(v, *p)
	if equality.Semantic.DeepEqual(p.Status, v.Owner.Status) {
		return
	}
	first := v.Owner.Status.ObservedGeneration != v.Owner.Generation
	converged := meta.IsStatusConditionFalse(p.Status.Conditions, apis.ConditionProgressing)
	wait := statusInterval - v.Now.Sub(v.Memory.StatusWritten)
	if first || converged || wait <= 0 {
		p.WriteStatus = true
		p.Memory.StatusWritten = v.Now
		return
	}
	p.Recheck = sooner(p.Recheck, wait)
}

// statusOf is the status that is true of the view once the plan is known.
func statusOf(v View, p Plan) v1alpha1.ImoocPodStatus {
	s := v1alpha1.ImoocPodStatus{
		ObservedGeneration: v.Owner.Generation,
		Selector:           apis.LabelOwner + "=" + string(v.Owner.UID),
		Conditions:         slices.Clone(v.Owner.Status.Conditions),
	}
	ending := 0
	for _, pod := range v.Pods {
		switch {
		case v.lost(pod):
		case pod.Terminating:
			ending++
		case pod.active():
			s.Replicas++
			if pod.Ready {
				s.ReadyReplicas++
			}
		}
	}
	for _, c := range []metav1.Condition{
		readyCondition(s, v.Owner.Desired),
		progressingCondition(s, v.Owner.Desired, p, ending),
		failureCondition(p.Memory),
	} {
		c.ObservedGeneration = v.Owner.Generation
		c.LastTransitionTime = metav1.NewTime(v.Now)
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return s
}

func readyCondition(s v1alpha1.ImoocPodStatus, desired int32) metav1.Condition {
	c := metav1.Condition{
		Type:    apis.ConditionReady,
		Status:  metav1.ConditionFalse,
		Reason:  "PodsNotReady",
		Message: fmt.Sprintf("%d of %d pods are ready", s.ReadyReplicas, desired),
	}
	if s.ReadyReplicas == desired && s.Replicas == desired {
		c.Status, c.Reason = metav1.ConditionTrue, "PodsReady"
	}
	return c
}

func progressingCondition(s v1alpha1.ImoocPodStatus, desired int32, p Plan, ending int) metav1.Condition {
	c := metav1.Condition{Type: apis.ConditionProgressing, Status: metav1.ConditionTrue}
	switch {
	case len(p.Create) > 0:
		c.Reason, c.Message = "CreatingPods", fmt.Sprintf("creating %d pods", len(p.Create))
	case len(p.Delete) > 0:
		c.Reason, c.Message = "DeletingPods", fmt.Sprintf("deleting %d pods", len(p.Delete))
	case ending > 0:
		c.Reason, c.Message = "PodsEnding", fmt.Sprintf("%d pods are ending", ending)
	case len(p.Memory.Refusals) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "WaitingAfterRefusal", "a pod could not be created; it is tried again"
	case s.Replicas != desired:
		c.Reason, c.Message = "WaitingToReplace", fmt.Sprintf("%d pods have ended and are replaced after a back-off", desired-s.Replicas)
	case s.ReadyReplicas != desired:
		c.Reason, c.Message = "PodsStarting", fmt.Sprintf("%d pods are not ready", desired-s.ReadyReplicas)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Converged", "the pods are as wanted"
	}
	return c
}

func failureCondition(m Memory) metav1.Condition {
	c := metav1.Condition{
		Type:    apis.ConditionReplicaFailure,
		Status:  metav1.ConditionFalse,
		Reason:  "NoFailure",
		Message: "no create was refused",
	}
	if r, refused := m.refusal(); refused {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, r.Reason, r.Message
	}
	return c
}

// refusal is the one to tell a person about: that of all slots, or else that
// of the lowest slot.
func (m Memory) refusal() (Refusal, bool) {
	if len(m.Refusals) == 0 {
		return Refusal{}, false
	}
	lowest := NoSlot
	if _, all := m.Refusals[NoSlot]; !all {
		for slot := range m.Refusals {
			if lowest == NoSlot || slot < lowest {
				lowest = slot
			}
		}
	}
	return m.Refusals[lowest], true
}
