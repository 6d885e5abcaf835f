package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Status is the status that a plan computes, independent of the kind's field names.
type Status struct {
	// ObservedGeneration is the generation of the owner that the status describes.
	ObservedGeneration int64
	// Selector is the label selector of the pods, as text.
	Selector string
	// Desired is the wanted number of pods. Current counts active pods. Updated counts active pods with the current
	// template. Available is the count in the status of the owner's Deployment. Without a Deployment, it equals Ready.
	Desired, Current, Updated, Ready, Available int32
	// PodNames are the sorted names of the active pods. Plans may omit them if the kind has no field for them.
	PodNames []string
	// Conditions are the conditions that plans write. Conditions from other programs are not included.
	Conditions []metav1.Condition
}

// Counts returns a pointer to each count of the status, with the path of the count.
func (s *Status) Counts(at kinds.StatusPaths) map[*int32][]string {
	return map[*int32][]string{
		&s.Desired: at.Desired, &s.Current: at.Current, &s.Updated: at.Updated, &s.Ready: at.Ready, &s.Available: at.Available,
	}
}

// Masked returns the status without the values for which the kind has no field.
func (s Status) Masked(at kinds.StatusPaths) Status {
	for count, path := range s.Counts(at) {
		mask(count, path)
	}
	mask(&s.Selector, at.Selector)
	mask(&s.PodNames, at.PodNames)
	mask(&s.ObservedGeneration, at.ObservedGeneration)
	mask(&s.Conditions, at.Conditions)
	return s
}

func mask[T any](value *T, path []string) {
	if len(path) == 0 {
		*value = *new(T)
	}
}

// StatusInterval is the minimum time between two writes of a status. A few writes (see maxEarly) do not wait: writes
// that report a new generation, the start or end of a pause, or an owner that has converged or cannot make progress.
const StatusInterval = time.Second

// maxEarly is the maximum number of writes that do not wait for StatusInterval (see Written.Early). A few
// changes are written immediately, but a status that keeps changing is written once per interval.
const maxEarly = 4

// Written is the last written status, as sent by the controller and as stored by the server.
type Written struct {
	At time.Time
	// Status is the status that was sent. Stored may lack fields, because the server drops fields without a schema.
	Status, Stored Status
	// Early counts writes less than StatusInterval after the previous write. A gap of two StatusIntervals resets Early.
	Early int
}

// Next returns the record of the write after w. w is zero for the first write.
func (w Written) Next(at time.Time, sent, stored Status) Written {
	next := Written{At: at, Status: sent, Stored: stored}
	switch since := at.Sub(w.At); {
	case since < StatusInterval:
		next.Early = w.Early + 1
	case since < 2*StatusInterval: // neither count this write nor reset the count
		next.Early = w.Early
	}
	return next
}

// Refused returns the record after a write failed with a conflict. This write counts, too, unless it was the first.
func (w Written) Refused(at time.Time) Written {
	if w.At.IsZero() {
		return w
	}
	return w.Next(at, w.Status, w.Stored)
}

// lastWrittenStatus returns the owner's stored status or, if this controller wrote it, the status that was
// sent, so that fields that the server drops are not written again.
func (v View) lastWrittenStatus() Status {
	if w := v.Memory.Written; equality.Semantic.DeepEqual(w.Stored, v.Owner.Status) {
		return w.Status
	}
	return v.Owner.Status
}

// decideStatus completes found with the conditions, sets Status to it, and decides whether and when to write it.
func (a *Actions) decideStatus(v View, found Status, conditions ...metav1.Condition) {
	stored := v.lastWrittenStatus()
	found.ObservedGeneration = v.Owner.Generation
	found.Selector = apis.LabelOwner + "=" + string(v.Owner.UID)
	found.Conditions = slices.Clone(stored.Conditions)
	converged := meta.IsStatusConditionFalse(conditions, apis.ConditionProgressing)
	for _, c := range v.withPause(stored, conditions) {
		c.ObservedGeneration = v.Owner.Generation
		c.LastTransitionTime = metav1.NewTime(v.Now.Truncate(time.Second)) // stored times have no fractions of a second
		meta.SetStatusCondition(&found.Conditions, storable(c))
	}
	a.Status = found
	if equality.Semantic.DeepEqual(found.Masked(v.Owner.StatusPaths), stored.Masked(v.Owner.StatusPaths)) {
		return
	}
	urgent := converged || stored.ObservedGeneration != v.Owner.Generation ||
		v.Paused() != meta.IsStatusConditionTrue(stored.Conditions, apis.ConditionPaused)
	w := v.Memory.Written
	// Restoring a status that someone else changed is not urgent. Otherwise, two controllers could write all the time.
	urgent = urgent && w.Early < maxEarly && !equality.Semantic.DeepEqual(found.timeless(), w.Status.timeless())
	wait := left(w.At, StatusInterval, v.Now)
	if urgent || wait == 0 {
		a.WriteStatus = true
		return
	}
	a.StatusLater = true
	a.Recheck = sooner(a.Recheck, wait)
}

func (s Status) timeless() Status {
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return s
}

const (
	// maxMessage is the maximum length of a condition's message, in bytes.
	maxMessage = 32768
	cut        = " … (cut)"
)

// storable returns the condition in a form that the server accepts. The reason and the message may come
// from another program. One rejected condition would block the whole status.
func storable(c metav1.Condition) metav1.Condition {
	for _, err := range validation.ValidateCondition(c, nil) {
		switch err.Field {
		case "reason":
			c.Reason = "Unknown"
		case "message":
			c.Message = strings.ToValidUTF8(c.Message[:maxMessage-len(cut)], "") + cut
		}
	}
	return c
}

func condition(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message}
}

func progressing(reason, message string) metav1.Condition {
	return condition(apis.ConditionProgressing, metav1.ConditionTrue, reason, message)
}

// stopped returns the condition Progressing for an owner that has converged or cannot make progress.
func stopped(reason, message string) metav1.Condition {
	return condition(apis.ConditionProgressing, metav1.ConditionFalse, reason, message)
}

// invalid returns the plan for an invalid owner. It writes only the status.
func invalid(v View, found Status) Actions {
	a := Actions{Memory: v.Memory}
	found.Desired = v.lastWrittenStatus().Desired
	const reason = "InvalidSpec"
	a.decideStatus(v, found,
		condition(apis.ConditionReady, metav1.ConditionFalse, reason, v.Owner.Invalid),
		stopped(reason, v.Owner.Invalid),
		condition(apis.ConditionReplicaFailure, metav1.ConditionTrue, reason, v.Owner.Invalid))
	return a
}

// countPods returns the counts and the names of active pods. It omits pods on nodes that are not eligible. A pod from
// the kind's previous strategy counts only as current, so that the object is not ready while the pod exists.
func countPods(v View, s slotSet) Status {
	found := Status{Desired: s.count}
	for _, pod := range v.Pods {
		other := s.ofOtherPlan(pod.Slot)
		if !pod.Active() || (s.nodes != nil && !s.wants(pod.Slot) && !other) {
			continue
		}
		found.Current++
		if len(v.Owner.StatusPaths.PodNames) > 0 {
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

// readyCondition returns the condition Ready. counted means that the owner has a replica count, so zero is intended.
func readyCondition(s Status, counted bool) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return condition(apis.ConditionReady, metav1.ConditionFalse, reason, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Ready < s.Desired:
		return no("PodsNotReady", "%d of %d pods ready", s.Ready, s.Desired)
	case s.Updated < s.Desired:
		return no("PodsOutdated", "%d of %d pods updated", s.Updated, s.Desired)
	case s.Current != s.Desired:
		return no("PodsSurplus", "%s, %d desired", problem.Quantity(s.Current, "pod"), s.Desired)
	}
	message := fmt.Sprintf("%d of %d pods ready", s.Ready, s.Desired)
	if counted && s.Desired == 0 {
		message = "scaled to zero"
	}
	return condition(apis.ConditionReady, metav1.ConditionTrue, "PodsReady", message)
}

func (a *Actions) podsProgress(v View, s slotSet, found Status) metav1.Condition {
	terminating := problem.Count(v.Pods, func(p Pod) bool { return p.Terminating && !v.stuckTerminating(p) })
	ofOtherPlan := problem.Count(v.Pods, func(p Pod) bool { return p.Active() && s.ofOtherPlan(p.Slot) })
	creates, deletes := a.count(Create), a.count(Delete)
	switch {
	case ofOtherPlan > 0 && creates+deletes == 0:
		return stopped("PlanChanged", "the previous plan left "+problem.Quantity(ofOtherPlan, "pod")+": delete them, or the object")
	case found.Updated < found.Current:
		return progressing("RollingOut", fmt.Sprintf("%d of %d pods updated", found.Updated, found.Desired))
	case a.isNew(Create, v):
		return progressing("CreatingPods", "creating "+problem.Quantity(creates, "pod"))
	case deletes > 0 && (a.count(Try) == 0 || a.isNew(Try, v)):
		return progressing("DeletingPods", "deleting "+problem.Quantity(deletes, "pod"))
	case terminating > 0:
		return progressing("PodsEnding", "waiting for "+problem.Quantity(terminating, "pod")+" to terminate")
	case len(a.Memory.Refusals) > 0:
		return stopped("WaitingAfterRefusal", "cannot create a pod; trying again later")
	case v.Owner.Problem != "" && found.Current < found.Desired:
		return stopped("InvalidTemplate", "the pod template is invalid")
	case found.Current != found.Desired:
		return progressing("WaitingToReplace", "waiting before replacing "+problem.Quantity(found.Desired-found.Current, "pod")+" that finished")
	case found.Ready != found.Desired:
		return progressing("PodsStarting", "waiting for "+problem.Quantity(found.Desired-found.Ready, "pod")+" to become ready")
	}
	return stopped("Converged", "all pods are up to date")
}

// isNew reports whether the plan has an operation with this verb that is not a retry. Retries must not change a
// condition, because each retry would then cause two writes of the status.
func (a *Actions) isNew(verb Verb, v View) bool {
	return slices.ContainsFunc(a.Operations, func(o Operation) bool { return o.Verb == verb && !a.Retries(o, v) })
}

// Retries reports whether an operation retries a write that was refused for its slot or for all slots.
func (a *Actions) Retries(o Operation, v View) bool { return len(a.Memory.refusals(o.Slot, v)) > 0 }

// failureCondition returns the condition ReplicaFailure. live is the owner's Deployment, or nil.
func (a *Actions) failureCondition(v View, live *Deployment) metav1.Condition {
	failed := func(reason, message string) metav1.Condition {
		return condition(apis.ConditionReplicaFailure, metav1.ConditionTrue, reason, message)
	}
	r, refused := LowestRefusal(a.Memory.Refusals)
	switch {
	case a.NameTaken != "":
		return failed("NameTaken", a.NameTaken)
	case v.Owner.Problem != "":
		return failed("InvalidTemplate", v.Owner.Problem)
	case refused:
		return failed(r.Reason, r.Message)
	case live != nil && live.Failure != nil:
		return failed(live.Failure.Reason, live.Failure.Message)
	}
	return condition(apis.ConditionReplicaFailure, metav1.ConditionFalse, "NoFailure", "no errors while creating pods")
}

// Paused reports whether the owner is paused. If so, only its status may be written. The pause ends
// according to the controller's own clock. An owner that is being deleted is not paused.
func (v View) Paused() bool { return !v.Owner.Deleting && v.Owner.Pause.Active(v.Now) }

// withPause adds the condition Paused if the owner is or was paused, or if its pause is invalid.
// During a pause, it also sets the condition Progressing to false.
func (v View) withPause(stored Status, conditions []metav1.Condition) []metav1.Condition {
	paused := v.Paused()
	if !paused && v.Owner.Pause.Invalid == "" && meta.FindStatusCondition(stored.Conditions, apis.ConditionPaused) == nil {
		return conditions
	}
	if p := meta.FindStatusCondition(conditions, apis.ConditionProgressing); paused && p != nil && p.Status == metav1.ConditionTrue {
		p.Status, p.Reason = metav1.ConditionFalse, apis.ReasonPaused
		p.Message = "the controller makes no changes while the object is paused"
	}
	return append(conditions, v.Owner.Pause.Condition(paused))
}
