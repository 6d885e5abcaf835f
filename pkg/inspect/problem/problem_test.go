package problem

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Equal problems of several pods are merged. The most serious problem is first.
func TestFold(t *testing.T) {
	t.Parallel()
	now := lookedAt()
	for name, test := range map[string]struct {
		findings []Finding
		want     []string
	}{
		"names and numbers are no difference": {[]Finding{
			{Code: CodeCrashLoop, Pod: "web-ab", Message: "web-ab ends with 1", Since: now},
			{Code: CodeCrashLoop, Pod: "web-cd", Message: "web-cd ends with 2", Since: now.Add(-1)},
		}, []string{"2 of 9 pods: web-cd ends with 2"}},
		"an object is none of its pods": {[]Finding{
			{Code: CodeReportedFailure, Pod: "web-ab", Message: "no disk", Fatal: true},
			{Code: CodeReportedFailure, Message: "no disk", Fatal: true},
		}, []string{"no disk", "pod web-ab: no disk"}},
		"what affects more pods": {[]Finding{
			{Code: CodeCrashLoop, Pod: "a", Message: "one"}, {Code: CodeCrashLoop, Pod: "b", Message: "two"}, {Code: CodeCrashLoop, Pod: "c", Message: "two"},
		}, []string{"2 of 9 pods: two", "pod a: one"}},
		"what does not end without help, the object's own, and a deadline last": {[]Finding{
			{Code: CodeContainersNotReady, Pod: "a", Message: "starts"},
			{Code: CodeDeadlineExceeded, Message: "late", Fatal: true},
			{Code: CodeCrashLoop, Pod: "b", Message: "crashes", Fatal: true},
			{Code: CodeQuotaExceeded, Message: "quota", Fatal: true},
		}, []string{"quota", "pod b: crashes", "late", "pod a: starts"}},
	} {
		var got []string
		for _, p := range Fold(test.findings, 9) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The last log line explains only problems of containers that have ended.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		problem Problem
		want    bool
	}{
		"it crashes":             {Problem{Code: CodeCrashLoop, Pods: []string{"a"}}, true},
		"its image is missing":   {Problem{Code: CodeImagePullFailed, Pods: []string{"a"}}, false},
		"an object has no log":   {Problem{Code: CodePodEnded}, false},
		"it has ended for good":  {Problem{Code: CodePodEnded, Pods: []string{"a"}}, true},
		"it needs more memory":   {Problem{Code: CodeOutOfMemory, Pods: []string{"a"}}, true},
		"nothing is known of it": {Problem{}, false},
	} {
		if got := test.problem.Crash(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// A terminating pod has a problem some seconds after its grace period. The problem is fatal at once
// or, if the pod has a finalizer, after a minute.
func TestTerminating(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		over       time.Duration
		finalizers []string
		code       Code
		fatal      bool
		message    string
	}{
		{slack - 1, nil, "", false, ""},
		{slack, nil, CodeTerminating, true, "still terminating after its grace period"},
		{slack, []string{"a.example.com/x"}, CodeFinalizer, false, "a finalizer is still pending: a.example.com/x"},
		{finalizing, []string{"a.example.com/x", "y"}, CodeFinalizer, false, "finalizers are still pending: a.example.com/x, y"},
		{finalizing + 1, []string{"y"}, CodeFinalizer, true, "a finalizer is still pending: y"},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", DeletionTimestamp: new(metav1.NewTime(lookedAt().Add(-test.over))), Finalizers: test.finalizers}}
		if f, found := OfPod(&pod, "", Context{Now: lookedAt()}); found != (test.code != "") || f.Code != test.code || f.Fatal != test.fatal || f.Message != test.message {
			t.Errorf("%s over: %t, %+v, want %s: %q", test.over, found, f, test.code, test.message)
		}
	}
}

// A pod has had a problem since its condition became false. If that time is unknown, it has had the problem
// since its creation.
func TestNotReadySince(t *testing.T) {
	t.Parallel()
	created, changed := lookedAt().Add(-time.Hour), lookedAt().Add(-time.Minute)
	for name, test := range map[string]struct {
		condition corev1.PodCondition
		want      time.Time
	}{
		"it was ready":           {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(changed)}, changed},
		"it is ready":            {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(changed)}, created},
		"nobody says since when": {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}, created},
		"another condition":      {corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(changed)}, created},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{test.condition}}}
		if f, _ := OfPod(pod, "", Context{Now: lookedAt()}); !f.Since.Equal(test.want) {
			t.Errorf("%s: since %s, want %s", name, f.Since, test.want)
		}
	}
}
