package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

// Reported returns the failures in the conditions of an object. whose is the name of a child, or "" for the object. If
// the last pod creation in the events failed, short is true because pods are missing, and no condition reports rejected
// pods, it adds this failure.
func Reported(conditions []metav1.Condition, whose, namespace string, events []Event, short bool, commands commandline.Context) []Problem {
	var all []Problem
	refused := false
	for _, c := range conditions {
		f := finding{Problem: Problem{Since: c.LastTransitionTime, Fatal: true, Events: events}, in: Context{Commands: commands}}
		switch {
		case c.Type == apis.ConditionReplicaFailure && c.Status == metav1.ConditionTrue:
			refused = true
			f.refusal(c.Reason, c.Message, namespace)
		case c.Status == metav1.ConditionTrue && (c.Type == "Stalled" || whose == "" && words.Condition(c) == words.Failed):
			// kstatus defines the condition Stalled for a failure that needs intervention.
			f.Code, f.Message = CodeReportedFailure, cmp.Or(Joined(c.Reason, c.Message), ConditionSays(c))
		case c.Status == metav1.ConditionTrue && c.Type == "Degraded" && whose == "":
			// The object may recover by itself, for example when its pods have started.
			f.Code, f.Message, f.Fatal = CodeReportedFailure, ConditionSays(c), false
		case c.Type == apis.ConditionProgressing && c.Status == metav1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded":
			// A Deployment does not name the cause here, so Fold sorts this problem after other fatal problems.
			f.Code, f.Message = CodeDeadlineExceeded, Joined(c.Reason, c.Message)
		default:
			continue
		}
		if whose != "" && f.Code != CodeQuotaExceeded && f.Code != CodeAdmissionRefused {
			f.Message = whose + ": " + f.Message
		}
		all = append(all, f.Problem)
	}
	for _, e := range slices.Backward(events) {
		if !short || refused || e.Reason == "SuccessfulCreate" {
			break
		}
		if e.Reason == "FailedCreate" {
			refused = true
			f := finding{Problem: Problem{Since: e.First, Fatal: true, Events: events}, in: Context{Commands: commands}}
			f.refusal(e.Reason, e.Message, namespace)
			all = append(all, f.Problem)
		}
	}
	return all
}

// refusal sets the finding for pods that the server rejects. Except for NameTaken, only the text of
// the message contains the cause (k8s.io/apiserver/pkg/admission/plugin/resourcequota, /webhook).
func (f *finding) refusal(reason, message, namespace string) {
	message = withoutJSON(message)
	why := strings.TrimPrefix(message, "Error creating: ")
	if _, after, found := strings.Cut(message, "is forbidden: "); found {
		why = after
	}
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		f.Code, f.Message = CodeQuotaExceeded, "cannot create more pods: "+why
		f.Hint = f.in.Commands.Line(commandline.Kubectl("describe", "quota").In(namespace))
	case reason == "NameTaken":
		f.Code, f.Message = CodeNameTaken, message
		f.Hint = "delete or rename the object that has this name"
	case strings.Contains(message, "admission webhook"), strings.Contains(message, "forbidden"), strings.Contains(message, "denied"):
		f.Code, f.Message = CodeAdmissionRefused, "pods are rejected: "+why
		f.Hint = "fix the pod template, or ask the owner of the policy"
	default:
		f.Code, f.Message = CodeCreateFailed, fmt.Sprintf("cannot create pods: %s", message)
	}
}

// ConditionSays returns a clause with the type, the status, the reason, and the message of a condition.
func ConditionSays(c metav1.Condition) string {
	return Joined("its condition "+c.Type+" is "+string(c.Status), c.Reason, c.Message)
}
