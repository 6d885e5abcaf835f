package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Status is what a plan finds out about an owner, whatever its kind calls it.
type Status struct {
	// ObservedGeneration is that of the object when it was planned for.
	ObservedGeneration int64
	// Selector selects the pods, as text.
	Selector string
	// Desired is how many pods are wanted, Current how many there are without
	// those that are ending or have ended. Updated are made as the object says
	// now, Ready are ready, and Available have been so for long enough.
	Desired, Current, Updated, Ready, Available int32
	// PodNames are the names of the pods that Current counts, sorted, where a status tells
	// them.
	PodNames []string
	// Conditions are those that a plan writes, without those of others.
	Conditions []metav1.Condition
}

// StatusMask says for which parts of a Status a kind has a place.
type StatusMask struct {
	Selector, Desired, Current, Updated, Ready, Available, PodNames bool

	ObservedGeneration, Conditions bool
}

// Masked is the part of a status that a kind has a place for.
func (s Status) Masked(f StatusMask) Status {
	if !f.Selector {
		s.Selector = ""
	}
	for _, count := range []struct {
		of    *int32
		shown bool
	}{{&s.Desired, f.Desired}, {&s.Current, f.Current}, {&s.Updated, f.Updated}, {&s.Ready, f.Ready}, {&s.Available, f.Available}} {
		if !count.shown {
			*count.of = 0
		}
	}
	if !f.PodNames {
		s.PodNames = nil
	}
	if !f.ObservedGeneration {
		s.ObservedGeneration = 0
	}
	if !f.Conditions {
		s.Conditions = nil
	}
	return s
}

// StatusInterval is how often a status that is neither the first of a
// generation nor the last of a convergence is written at the most.
const StatusInterval = time.Second

// maxEarly is how many of those others are written earlier, until there was none for a
// while: a few changes one after the other are told at once, and one that changes without
// a break is told once a StatusInterval.
const maxEarly = 4

// lastWrittenStatus is what the owner's status says. Of what its CRD has no field for, it is
// what was written last: the same is not written again because it is dropped.
func (v View) lastWrittenStatus() Status {
	if w := v.Memory.Written; w != nil && equality.Semantic.DeepEqual(w.Stored, v.Owner.Status) {
		return w.Status
	}
	return v.Owner.Status
}

// decideStatus completes the status that a plan found and decides whether it is
// written now.
func (p *Actions) decideStatus(v View, found Status, conditions ...metav1.Condition) {
	said := v.lastWrittenStatus()
	found.ObservedGeneration = v.Owner.Generation
	found.Selector = apis.LabelOwner + "=" + string(v.Owner.UID)
	found.Conditions = slices.Clone(said.Conditions)
	converged := meta.IsStatusConditionFalse(conditions, apis.ConditionProgressing)
	for _, c := range v.withPause(said, conditions) {
		c.ObservedGeneration = v.Owner.Generation
		c.LastTransitionTime = metav1.NewTime(v.Now.Truncate(time.Second)) // as it is stored
		meta.SetStatusCondition(&found.Conditions, storable(c))
	}
	p.Status = found
	if equality.Semantic.DeepEqual(found.Masked(v.Owner.StatusMask), said.Masked(v.Owner.StatusMask)) {
		return
	}
	urgent := converged || said.ObservedGeneration != v.Owner.Generation || v.Paused() != meta.IsStatusConditionTrue(said.Conditions, apis.ConditionPaused)
	var wait time.Duration
	if w := v.Memory.Written; w != nil {
		wait = left(w.At, StatusInterval, v.Now)
		// What was written already, and somebody changed, is put right in its time:
		// two who disagree would write without a break.
		urgent = urgent && w.Early < maxEarly && !equality.Semantic.DeepEqual(found.timeless(), w.Status.timeless())
	}
	if urgent || wait == 0 {
		p.WriteStatus = true
		return
	}
	p.StatusLater = true
	p.Recheck = sooner(p.Recheck, wait)
}

// timeless is a status without the times of its conditions.
func (s Status) timeless() Status {
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return s
}

const (
	// maxMessage and maxReason are how many bytes the message and the reason of a
	// condition have at the most (metav1.Condition).
	maxMessage = 32768
	maxReason  = 1024
	// cut marks a message that was longer.
	cut = " … (cut)"
)

// conditionReason is what the API server demands of the reason of a condition
// (metav1.Condition).
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// storable makes of a condition one that the server stores. Its words may come
// from elsewhere, and one that is refused would hold up the whole status.
func storable(c metav1.Condition) metav1.Condition {
	if len(c.Reason) > maxReason || !conditionReason.MatchString(c.Reason) {
		c.Reason = "Unknown"
	}
	if len(c.Message) > maxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:maxMessage-len(cut)], "") + cut
	}
	return c
}

// invalid is the plan for an owner that nothing can be planned for.
func invalid(v View, found Status) Actions {
	p := Actions{Memory: v.Memory}
	found.Desired = v.lastWrittenStatus().Desired
	because := func(name string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: "InvalidSpec", Message: v.Owner.Invalid}
	}
	p.decideStatus(v, found, because(apis.ConditionReady, metav1.ConditionFalse),
		because(apis.ConditionProgressing, metav1.ConditionFalse), because(apis.ConditionReplicaFailure, metav1.ConditionTrue))
	return p
}

// podsStatus is what is true of an owner that has its pods directly.
func (p *Actions) podsStatus(v View, s slotSet) {
	found := countPods(v, s)
	ending, ofOtherPlan := 0, 0
	for _, pod := range v.Pods {
		switch {
		case pod.Terminating && !v.stuckTerminating(pod):
			ending++
		case pod.active() && s.ofOtherPlan(pod.Slot):
			ofOtherPlan++
		}
	}
	progressing := progressingCondition(v, found, *p, ending)
	if ofOtherPlan > 0 && len(p.Create)+len(p.Delete) == 0 {
		progressing.Status, progressing.Reason = metav1.ConditionFalse, "PlanChanged"
		progressing.Message = "the previous plan left " + PodCount(ofOtherPlan) + ": delete them, or the object"
	}
	p.decideStatus(v, found, readyCondition(found, s.nodes == nil), progressing, failureCondition(p.Memory, v.Owner.Problem))
}

// countPods counts the active pods. What is on a node that need not have it is
// not counted. Pods of another plan count as there, and as nothing else: with them,
// the object never has what it asks for.
func countPods(v View, s slotSet) Status {
	found := Status{Desired: s.count}
	for _, pod := range v.Pods {
		other := s.ofOtherPlan(pod.Slot)
		if !pod.active() || (s.nodes != nil && !s.wants(pod.Slot) && !other) {
			continue
		}
		found.Current++
		if v.Owner.StatusMask.PodNames {
			found.PodNames = append(found.PodNames, pod.Name)
		}
		if other {
			continue
		}
		if pod.Ready {
			found.Ready++
		}
		if !v.outdated(pod) {
			found.Updated++
		}
	}
	found.Available = found.Ready
	slices.Sort(found.PodNames)
	return found
}

// readyCondition says whether the pods are ready. Where a person sets their number,
// none is what was asked for.
func readyCondition(s Status, scaled bool) metav1.Condition {
	c := metav1.Condition{
		Type:    apis.ConditionReady,
		Status:  metav1.ConditionFalse,
		Reason:  "PodsNotReady",
		Message: fmt.Sprintf("%d of %d pods ready", s.Ready, s.Desired),
	}
	switch {
	case s.Ready < s.Desired:
	case s.Updated < s.Desired:
		c.Reason, c.Message = "PodsOutdated", fmt.Sprintf("%d of %d pods updated", s.Updated, s.Desired)
	case s.Current != s.Desired:
		c.Reason, c.Message = "PodsSurplus", fmt.Sprintf("%s, %d desired", PodCount(int(s.Current)), s.Desired)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, "PodsReady"
		if scaled && s.Desired == 0 {
			c.Message = "scaled to zero"
		}
	}
	return c
}

func progressingCondition(v View, s Status, p Actions, ending int) metav1.Condition {
	c := metav1.Condition{Type: apis.ConditionProgressing, Status: metav1.ConditionTrue}
	switch {
	case s.Updated < s.Current:
		c.Reason, c.Message = "RollingOut", fmt.Sprintf("%d of %d pods updated", s.Updated, s.Desired)
	case len(p.Create) > 0:
		c.Reason, c.Message = "CreatingPods", "creating "+PodCount(len(p.Create))
	case len(p.Delete) > 0:
		c.Reason, c.Message = "DeletingPods", "deleting "+PodCount(len(p.Delete))
	case ending > 0:
		c.Reason, c.Message = "PodsEnding", "waiting for "+PodCount(ending)+" to terminate"
	case len(p.Memory.Refusals) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "WaitingAfterRefusal", "cannot create a pod; trying again later"
	case v.Owner.Problem != "" && s.Current < s.Desired:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "InvalidTemplate", "the pod template is invalid"
	case s.Current != s.Desired:
		c.Reason, c.Message = "WaitingToReplace", "waiting before replacing "+PodCount(int(s.Desired-s.Current))+" that finished"
	case s.Ready != s.Desired:
		c.Reason, c.Message = "PodsStarting", "waiting for "+PodCount(int(s.Desired-s.Ready))+" to become ready"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Converged", "all pods are up to date"
	}
	return c
}

// PodCount is a number of pods: "1 pod", "2 pods".
func PodCount(n int) string { return problem.Quantity(n, "pod") }

func failureCondition(m Memory, problem string) metav1.Condition {
	c := metav1.Condition{
		Type:    apis.ConditionReplicaFailure,
		Status:  metav1.ConditionFalse,
		Reason:  "NoFailure",
		Message: "no errors while creating pods",
	}
	if r, refused := m.refusal(); refused {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, r.Reason, r.Message
	}
	if problem != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "InvalidTemplate", problem
	}
	return c
}

// refusal is the one to tell a person about: that of all slots, or else that
// of the lowest slot.
func (m Memory) refusal() (Refusal, bool) {
	if len(m.Refusals) == 0 {
		return Refusal{}, false
	}
	lowest := slices.Min(slices.Collect(maps.Keys(m.Refusals))) // None is below all slots
	return m.Refusals[lowest], true
}
