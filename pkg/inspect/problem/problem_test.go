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
		findings []Problem
		want     []string
	}{
		"same problem except for names and numbers": {[]Problem{
			{Code: CodeCrashLoop, Pods: []string{"web-ab"}, Message: "web-ab ends with 1", Since: metav1.NewTime(now)},
			{Code: CodeCrashLoop, Pods: []string{"web-cd"}, Message: "web-cd ends with 2", Since: metav1.NewTime(now.Add(-1))},
		}, []string{"2 of 9 pods: web-cd ends with 2"}},
		"same problem of the object and of a pod": {[]Problem{
			{Code: CodeReportedFailure, Pods: []string{"web-ab"}, Message: "no disk", Fatal: true},
			{Code: CodeReportedFailure, Message: "no disk", Fatal: true},
		}, []string{"no disk", "pod web-ab: no disk"}},
		"problem of more pods first": {[]Problem{
			{Code: CodeCrashLoop, Pods: []string{"a"}, Message: "one"}, {Code: CodeCrashLoop, Pods: []string{"b"}, Message: "two"}, {Code: CodeCrashLoop, Pods: []string{"c"}, Message: "two"},
		}, []string{"2 of 9 pods: two", "pod a: one"}},
		"fatal first: object, pod, then deadline": {[]Problem{
			{Code: CodeContainersNotReady, Pods: []string{"a"}, Message: "starts"},
			{Code: CodeDeadlineExceeded, Message: "late", Fatal: true},
			{Code: CodeCrashLoop, Pods: []string{"b"}, Message: "crashes", Fatal: true},
			{Code: CodeQuotaExceeded, Message: "quota", Fatal: true},
		}, []string{"quota", "pod b: crashes", "late", "pod a: starts"}},
	} {
		var got []string
		for _, p := range Fold(test.findings, 9) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: problems = %q, want %q", name, got, test.want)
		}
	}
}

// The last line of a log can explain only an ended pod or a crashed container.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		problem Problem
		want    bool
	}{
		"crash loop":        {Problem{Code: CodeCrashLoop, Pods: []string{"a"}}, true},
		"image pull failed": {Problem{Code: CodeImagePullFailed, Pods: []string{"a"}}, false},
		"no pods":           {Problem{Code: CodePodEnded}, false},
		"pod ended":         {Problem{Code: CodePodEnded, Pods: []string{"a"}}, true},
		"out of memory":     {Problem{Code: CodeOutOfMemory, Pods: []string{"a"}}, true},
		"no code":           {Problem{}, false},
	} {
		if got := test.problem.Crash(); got != test.want {
			t.Errorf("%s: Crash() = %t, want %t", name, got, test.want)
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
			t.Errorf("%s over the grace period: found %t, %+v; want %q: %q, fatal %t", test.over, found, f, test.code, test.message, test.fatal)
		}
	}
}

// A pod that crashes has had the problem since its condition Ready became false. If that time is unknown, or if the
// pod is ready, it has had the problem since its creation.
func TestNotReadySince(t *testing.T) {
	t.Parallel()
	created, changed := lookedAt().Add(-time.Hour), lookedAt().Add(-time.Minute)
	running, ended := &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(lookedAt())}, &corev1.ContainerStateTerminated{ExitCode: 1}
	crashed := corev1.ContainerStatus{RestartCount: 1, State: corev1.ContainerState{Running: running}, LastTerminationState: corev1.ContainerState{Terminated: ended}}
	for name, test := range map[string]struct {
		condition corev1.PodCondition
		want      time.Time
	}{
		"Ready became False": {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(changed)}, changed},
		"Ready is True":      {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(changed)}, created},
		"unknown time":       {corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}, created},
		"another condition":  {corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(changed)}, created},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{test.condition}, ContainerStatuses: []corev1.ContainerStatus{crashed}}}
		if f, found := OfPod(pod, "", Context{Now: lookedAt()}); !found || !f.Since.Time.Equal(test.want) {
			t.Errorf("%s: found = %t, Since = %s, want %s", name, found, f.Since, test.want)
		}
	}
}
