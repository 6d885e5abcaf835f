package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

const (
	readyCondition = apis.ConditionReady
	// stalledCondition is what controllers report a failure by that will not end
	// (sigs.k8s.io/cli-utils/pkg/kstatus).
	stalledCondition  = "Stalled"
	degradedCondition = "Degraded"
	// availableCondition of a Deployment says that enough pods are ready.
	availableCondition = "Available"
	// progressingCondition of a Deployment is false when its deadline has passed.
	progressingCondition = apis.ConditionProgressing
	deadlineExceeded     = "ProgressDeadlineExceeded"
)

// objectFindings are the problems of the object itself, and of what stands
// between it and its pods.
func objectFindings(e Snapshot, children []Child, events happened) []finding {
	o := e.Object
	var all []finding
	if own := slices.DeleteFunc(slices.Clone(o.Finalizers), byGarbageCollector); !o.Deleted.IsZero() && len(own) > 0 {
		f := finding{since: o.Deleted, events: events[o.UID]}
		f.held(o.Type, o.Namespace, o.Name, own, e.Now)
		all = append(all, f)
	}
	all = append(all, reported(o.newest(), "", o.Namespace, events[o.UID])...)
	if o.UserPause.Invalid != "" {
		all = append(all, finding{code: CodeInvalidPause, message: "it is not paused: " + o.UserPause.Invalid, hint: howToResume(o)})
	}
	if o.Word.Failed {
		f := finding{code: CodeReportedFailure, message: "its controller reports: " + o.Word.String(), fatal: true, events: events[o.UID]}
		all = append(all, f)
	}
	for _, c := range children {
		all = append(all, reported(c.Conditions, c.Kind+"/"+c.Name, o.Namespace, events[c.UID])...)
	}
	return all
}

// failureConditions are those of the object itself that report what does not end
// without help. Of a child, such as a Job, they say nothing about the object.
func failureConditions() []string { return []string{"Failed", "Error", "InvalidSpec"} }

func byGarbageCollector(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

// reported are the failures that an object reports by its conditions, or else
// by an event about pods that could not be created.
func reported(conditions []metav1.Condition, whose, namespace string, events []corev1.Event) []finding {
	var all []finding
	refused := false
	for _, c := range conditions {
		f := finding{since: c.LastTransitionTime.Time, fatal: true, events: events}
		switch {
		case c.Type == apis.ConditionReplicaFailure && c.Status == metav1.ConditionTrue:
			refused = true
			f.refusal(c.Reason, c.Message, namespace)
		case c.Status == metav1.ConditionTrue && (c.Type == stalledCondition || whose == "" && slices.Contains(failureConditions(), c.Type)):
			f.code, f.message = CodeReportedFailure, conditionWords(c)
		case c.Status == metav1.ConditionTrue && c.Type == degradedCondition && whose == "":
			// It may well end by itself, as when pods are still starting.
			f.code, f.message, f.fatal = CodeReportedFailure, "its condition Degraded is True: "+conditionWords(c), false
		case c.Type == progressingCondition && c.Status == metav1.ConditionFalse && c.Reason == deadlineExceeded:
			// It says that something is wrong, and others say what; it comes last.
			f.code, f.message, f.fatal = CodeDeadlineExceeded, conditionWords(c), true
		default:
			continue
		}
		if whose != "" && f.code != CodeQuotaExceeded && f.code != CodeAdmissionRefused {
			f.message = whose + ": " + f.message
		}
		all = append(all, f)
	}
	if event, found := refusedLast(events); found && !refused {
		f := finding{since: firstSeen(event), fatal: true, events: events}
		f.refusal(event.Reason, event.Message, namespace)
		all = append(all, f)
	}
	return all
}

// refusedLast is the event of the last creation if that failed.
func refusedLast(events []corev1.Event) (corev1.Event, bool) {
	for _, e := range slices.Backward(events) {
		switch e.Reason {
		case eventFailedCreate:
			return e, true
		case eventCreated:
			return corev1.Event{}, false
		}
	}
	return corev1.Event{}, false
}

// refusal is the finding that the server refuses to create pods. It tells its
// reasons in words alone (k8s.io/apiserver/pkg/admission/plugin/resourcequota,
// /webhook).
func (f *finding) refusal(reason, message, namespace string) {
	message = withoutJSON(message)
	words := strings.TrimPrefix(message, "Error creating: ")
	if _, after, found := strings.Cut(message, "is forbidden: "); found {
		words = after
	}
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		f.code, f.message = CodeQuotaExceeded, "cannot create more pods: "+words
		f.hint = "kubectl describe quota -n " + namespace
	case reason == "NameTaken":
		f.code, f.message = CodeNameTaken, message
		f.hint = "delete or rename the object that has this name"
	case strings.Contains(message, "admission webhook"), strings.Contains(message, "forbidden"), strings.Contains(message, "denied"):
		f.code, f.message = CodeAdmissionRefused, "pods are rejected: "+words
		f.hint = "fix the pod template, or ask the owner of the policy"
	default:
		f.code, f.message = CodeCreateFailed, fmt.Sprintf("cannot create pods: %s", message)
	}
}

// conditionWords is what a condition says.
func conditionWords(c metav1.Condition) string {
	switch {
	case c.Reason == "":
		return c.Message
	case c.Message == "":
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
