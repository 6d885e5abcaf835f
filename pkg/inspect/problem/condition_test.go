package problem

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The finding for rejected pods contains the server's reason and, if the cause is known, a hint.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, message string
		code            Code
		want, hint      string
	}{
		{"FailedCreate", `Error creating: pods "a" is forbidden: exceeded quota: few`, CodeQuotaExceeded, "cannot create more pods: exceeded quota: few", "kubectl describe quota -n ns"},
		{"QuotaExceeded", `pods "a" is forbidden: failed quota: few: must specify cpu`, CodeQuotaExceeded, "cannot create more pods: failed quota: few: must specify cpu", "kubectl describe quota -n ns"},
		{"NameTaken", "pod a already exists", CodeNameTaken, "pod a already exists", "delete or rename the object that has this name"},
		{"R", `admission webhook "w" said no`, CodeAdmissionRefused, `pods are rejected: admission webhook "w" said no`, "fix the pod template, or ask the owner of the policy"},
		{"R", `pods "a" is forbidden: no`, CodeAdmissionRefused, "pods are rejected: no", "fix the pod template, or ask the owner of the policy"},
		{"R", "request denied", CodeAdmissionRefused, "pods are rejected: request denied", "fix the pod template, or ask the owner of the policy"},
		{"R", "the server fails", CodeCreateFailed, "cannot create pods: the server fails", ""},
	} {
		var f finding
		if f.refusal(test.reason, test.message, "ns"); f.Code != test.code || f.Message != test.want || f.Hint != test.hint {
			t.Errorf("%s: got %s: %q, hint %q; want %s: %q, hint %q", test.message, f.Code, f.Message, f.Hint, test.code, test.want, test.hint)
		}
	}
}

// The type, the status, and the reason of a condition, and whether it is on the object or on a child, determine whether
// it is a problem. The message names the child unless a quota or admission rejects the pods. A degraded object has not
// failed, because it might recover by itself.
func TestReported(t *testing.T) {
	t.Parallel()
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	const child = "ReplicaSet/web"
	for _, test := range []struct {
		whose, kind     string
		status          metav1.ConditionStatus
		reason, message string
		code            Code
		want            string
	}{
		{"", "Degraded", yes, "R", "m", CodeReportedFailure, "its condition Degraded is True: R: m"},
		{"", "Degraded", no, "R", "m", "", ""},
		{child, "Degraded", yes, "R", "m", "", ""},
		{"", "Failed", yes, "R", "m", CodeReportedFailure, "R: m"},
		{"", "Failed", no, "R", "m", "", ""},
		{child, "Failed", yes, "R", "m", "", ""},
		{"", "HasErrors", yes, "", "no such secret", CodeReportedFailure, "no such secret"},
		{"", "HasErrors", no, "", "none", "", ""},
		{"", "Failure", yes, "", "", CodeReportedFailure, "its condition Failure is True"},
		{"", "Stalled", yes, "R", "m", CodeReportedFailure, "R: m"},
		{child, "Stalled", yes, "", "no disk", CodeReportedFailure, "ReplicaSet/web: no disk"},
		{"", "Progressing", no, "ProgressDeadlineExceeded", "m", CodeDeadlineExceeded, "ProgressDeadlineExceeded: m"},
		{"", "Progressing", yes, "ProgressDeadlineExceeded", "m", "", ""},
		{"", "Progressing", no, "Converged", "m", "", ""},
		{"", "ReplicaFailure", yes, "R", "m", CodeCreateFailed, "cannot create pods: m"},
		{"", "ReplicaFailure", no, "R", "m", "", ""},
		{child, "ReplicaFailure", yes, "", "m", CodeCreateFailed, "ReplicaSet/web: cannot create pods: m"},
		{child, "ReplicaFailure", yes, "", "request denied", CodeAdmissionRefused, "pods are rejected: request denied"},
		{child, "ReplicaFailure", yes, "", "exceeded quota", CodeQuotaExceeded, "cannot create more pods: exceeded quota"},
	} {
		c := metav1.Condition{Type: test.kind, Status: test.status, Reason: test.reason, Message: test.message}
		found := Reported([]metav1.Condition{{Type: "Other", Status: yes}, c}, test.whose, "ns", nil, true, nil)
		if len(found) == 0 {
			found = []Problem{{}}
		}
		fatal := test.code != "" && test.kind != "Degraded"
		if f := found[0]; len(found) > 1 || f.Code != test.code || f.Message != test.want || f.Fatal != fatal {
			t.Errorf("condition %s=%s of %q: found %+v, want %q: %q, fatal %t", test.kind, test.status, test.whose, found, test.code, test.want, fatal)
		}
	}
}

// If the last pod creation failed, there is a problem. If a condition reports the same failure,
// there is still only one problem.
func TestReportedInAnEvent(t *testing.T) {
	t.Parallel()
	failed, created := Event{Reason: "FailedCreate", Message: "Error creating: no"}, Event{Reason: "SuccessfulCreate"}
	refused := []metav1.Condition{{Type: "ReplicaFailure", Status: metav1.ConditionTrue, Message: "refused"}}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		events     []Event
		want       string
	}{
		"last creation failed":         {nil, []Event{created, failed, {Reason: "Other"}}, "cannot create pods: Error creating: no"},
		"last creation succeeded":      {nil, []Event{failed, created}, ""},
		"reported by a condition, too": {refused, []Event{failed}, "cannot create pods: refused"},
		"no event about a creation":    {nil, []Event{{Reason: "Other"}}, ""},
	} {
		found := Reported(test.conditions, "", "ns", test.events, true, nil)
		if (len(found) == 1) != (test.want != "") || len(found) == 1 && (found[0].Message != test.want || !found[0].Fatal) {
			t.Errorf("%s: found %+v, want %q", name, found, test.want)
		}
	}
}
