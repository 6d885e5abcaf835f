package printer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/models"
)

func screenTime() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }

// seen returns a snapshot of an ImoocPod whose latest generation has been observed.
func seen(desired, current, ready int32, pods ...corev1.Pod) status.Snapshot {
	return status.Snapshot{
		Object: status.Object{
			Identity: status.Identity{Type: "imoocpod.batch.tutorial.kubebuilder.io", Resource: "imoocpods.batch.tutorial.kubebuilder.io", Kind: "ImoocPod", Namespace: "team-a", Name: "foo", UID: "foo", Created: screenTime().Add(-time.Hour)},
			Counts:   status.Counts{Desired: desired, Current: current, Ready: ready},
			Evidence: status.Evidence{Generation: 2, ObservedGeneration: 2},
		},
		Pods: models.Of(pods),
		Now:  screenTime(),
	}
}

// podOf returns a ready pod of an owner, with an optional change.
func podOf(owner types.UID, name string, change func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(screenTime().Add(-3 * time.Minute)),
			OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "web", Image: "web:v2"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	if change != nil {
		change(&pod)
	}
	return pod
}

// waiting returns a change for podOf that puts the container into the state Waiting.
func waiting(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
}

func crashing(pod *corev1.Pod) {
	waiting("CrashLoopBackOff", "back-off 2m40s restarting failed container=web")(pod)
	pod.Status.Phase = corev1.PodRunning
	c := &pod.Status.ContainerStatuses[0]
	c.RestartCount = 7
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "配置文件不存在：/etc/应用/设置.yaml"}
}

func podsNamed(owner types.UID, prefix string, from, to int, change func(*corev1.Pod)) []corev1.Pod {
	var pods []corev1.Pod
	for i := from; i < to; i++ {
		pods = append(pods, podOf(owner, fmt.Sprintf("%s-%d", prefix, i), change))
	}
	return pods
}

func conditionsOf(ready metav1.ConditionStatus, reason, message string) []metav1.Condition {
	at := metav1.NewTime(screenTime().Add(-time.Minute))
	return []metav1.Condition{
		{Type: "Ready", Status: ready, Reason: reason, Message: message, LastTransitionTime: at},
		{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "Converged", Message: "all pods are up to date", LastTransitionTime: at},
	}
}

func eventOf(pod, kind, reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod, UID: types.UID(pod)},
		Type:           kind, Reason: reason, Message: message, Count: 3, LastTimestamp: metav1.NewTime(screenTime().Add(-ago)),
	}
}

func screens() map[string]Screen {
	const noImage = `Back-off pulling image "registry.example.com/team-a/web:v2": rpc error: code = NotFound desc = failed to pull and unpack image: not found`
	one := func(s status.Snapshot) Screen { return Screen{Reports: []status.Report{status.NewReport(s)}} }

	converging := seen(8, 6, 3, append(podsNamed("foo", "foo-f4e4e66e", 0, 3, nil), podsNamed("foo", "foo-f4e4e66e", 3, 6, waiting("ContainerCreating", ""))...)...)
	ready := seen(3, 3, 3, podsNamed("foo", "foo-f4e4e66e", 0, 3, nil)...)
	ready.Object.Conditions = conditionsOf(metav1.ConditionTrue, "PodsReady", "3 of 3 pods ready")
	pull := seen(3, 3, 1, append(podsNamed("foo", "foo-f4e4e66e", 0, 1, nil), podsNamed("foo", "foo-f4e4e66e", 1, 3, waiting("ImagePullBackOff", noImage))...)...)
	pull.Object.Conditions = conditionsOf(metav1.ConditionFalse, "PodsNotReady", "1 of 3 pods ready")
	pull.Events = []corev1.Event{
		eventOf("foo-f4e4e66e-1", "Normal", "Pulling", `Pulling image "registry.example.com/team-a/web:v2"`, time.Minute),
		eventOf("foo-f4e4e66e-1", "Warning", "Failed", "Error: ErrImagePull", 50*time.Second),
	}
	quota := seen(5, 2, 2, podsNamed("foo", "foo-f4e4e66e", 0, 2, nil)...)
	quota.Object.Conditions = append(conditionsOf(metav1.ConditionFalse, "PodsMissing", "2 of 5 pods ready"), metav1.Condition{
		Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: "QuotaExceeded", LastTransitionTime: metav1.NewTime(screenTime().Add(-time.Minute)),
		Message: `pods "foo-f4e4e66e-2" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2`,
	})
	nobody := seen(3, 0, 0)
	nobody.Object.ObservedGeneration = 0
	most := seen(200, 200, 197, append(podsNamed("foo", "foo-f4e4e66e", 0, 197, nil), podsNamed("foo", "foo-f4e4e66e", 197, 200, crashing)...)...)
	deployment := seen(3, 3, 2, append(podsNamed("set", "web-7887448d46-8xq", 0, 2, nil), podsNamed("set", "web-7887448d46-8xq", 2, 3, crashing)...)...)
	deployment.Object.Kind, deployment.Object.Type, deployment.Object.Name = "AppService", "appservice.appcontroller.k8s.io", "商店-后端"
	deployment.Children = []status.Child{
		{Kind: "Deployment", Name: "web", UID: "web", Controller: "foo", Desired: new(int32(3)), Ready: new(int32(2))},
		{Kind: "ReplicaSet", Name: "web-7887448d46", UID: "set", Controller: "web", Desired: new(int32(3)), Ready: new(int32(2))},
	}
	guarded := one(deployment)
	guarded.Reports[0].Reverts = []competing.Writer{{By: "HorizontalPodAutoscaler/web", Message: "HorizontalPodAutoscaler/web keeps its replica count between 2 and 10"}}
	guarded.Reports[0].Problems[0].LastLogLine = "panic: \x1b[31mno configuration\x1b[0m for this service in /etc/web, and none was given on the command line"
	guarded.Reports[0].Budgets = []budget.Budget{{Name: "web", MinAvailable: "2"}}
	guarded.Reports[0].Unread, guarded.Reports[0].Replicas.Updated = []string{"events", "nodes"}, new(int32(1))
	several := Screen{Reports: slices.Concat(one(ready).Reports, one(pull).Reports, one(nobody).Reports, one(most).Reports)}
	for i := range several.Reports {
		several.Reports[i].Metadata.Name = string(rune('a' + i))
	}
	notReady := several
	notReady.Only = status.Only{status.OnlyNotReady}
	allReady := one(ready)
	allReady.Only = notReady.Only
	watched := Screen{}
	begun := converging
	begun.Pods, begun.Object.Ready = models.Of(podsNamed("foo", "foo-f4e4e66e", 0, 6, waiting("ContainerCreating", ""))), 0
	watched.See(status.NewReport(begun), screenTime().Add(-6*time.Second))
	watched.See(status.NewReport(converging), screenTime())
	took := Screen{}
	took.See(status.NewReport(converging), screenTime().Add(-14*time.Second))
	took.See(status.NewReport(ready), screenTime().Add(-time.Second))
	lost := one(ready)
	lost.Lost = screenTime().Add(-12 * time.Second)
	namespaces := several
	namespaces.Reports = slices.Clone(several.Reports)
	namespaces.Reports[3].Metadata.Namespace = "team-b"
	fleet := Screen{}
	for i := range 40 {
		r := several.Reports[min(i, 4)%4]
		if i >= 4 {
			r = several.Reports[0]
		}
		r.Metadata.Name = fmt.Sprintf("web-%d", i)
		fleet.Reports = append(fleet.Reports, r)
	}
	every := one(most)
	every.AllPods = true
	// The updated count is shown only if it differs from the desired count. Unread resources are not
	// shown for a ready object.
	done := one(ready)
	done.Reports[0].Unread, done.Reports[0].Replicas.Updated = []string{"events"}, new(int32(3))
	return map[string]Screen{
		"converging": watched, "ready": done, "pull": one(pull), "quota": one(quota), "no-controller": one(nobody),
		"many": one(most), "deployment": guarded, "several": several, "not-ready": notReady, "all-ready": allReady, "all-pods": every,
		"took": took, "lost": lost, "namespaces": namespaces, "fleet": fleet,
	}
}

// TestScreen compares each screen, at several sizes, with its golden file.
func TestScreen(t *testing.T) {
	t.Parallel()
	for name, screen := range screens() {
		var b strings.Builder
		show := func(width, height int, style Style) {
			lines := screen.Frame(width, height, style, screenTime())
			fmt.Fprintf(&b, "%s %d x %d %+v\n%s\n", strings.Repeat("=", 8), width, height, style, strings.Join(lines, "\n"))
			if height > 0 && len(lines) > height {
				t.Errorf("%s: %d lines do not fit %d x %d", name, len(lines), width, height)
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width {
					t.Errorf("%s: %q is wider than %d", name, l, width)
				}
			}
		}
		for _, width := range []int{40, 80, 200} {
			for _, height := range []int{10, 50} {
				show(width, height, Style{})
			}
		}
		if name != "all-pods" {
			show(80, 0, Style{ASCII: true})
			show(80, 10, Style{Color: true})
		}
		golden(t, "screen-"+name, b.String())
	}
}

// Even a small screen shows the problem and the number of ready pods.
func TestScreenShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for height := 5; height < 60; height++ {
		for _, width := range []int{30, 40, 80, 200} {
			text := strings.Join(screens()["many"].Frame(width, height, Style{}, screenTime()), "\n")
			if !strings.Contains(text, "CrashLoop") || !strings.Contains(text, "197/200") || height >= 8 && !strings.Contains(text, "197 ready") {
				t.Fatalf("%d x %d: the problem or a number of pods is missing:\n%s", width, height, text)
			}
		}
	}
}

// A condition that is Unknown, an age of years and days, and an event without a time do not run into the next column.
func TestScreenColumns(t *testing.T) {
	t.Parallel()
	f := frame{now: screenTime()}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(screenTime().AddDate(-2, 0, -99)), Reason: "Lost"}
	for i, l := range append(f.conditions([]metav1.Condition{ready}), f.events([]problem.Event{{Reason: "Old", Object: "Pod/a", Message: "it"}})...) {
		if got, want := l.render(80, Style{}), []string{"", "  Ready  Unknown  2y100d  Lost", "", "  <unknown> Old Pod/a: it"}[i]; strings.TrimRight(got, " ") != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// Frame returns lines that fit a terminal of any size.
func FuzzScreen(f *testing.F) {
	f.Add(40, 10, "web", "配置\x1b[31m\t\n")
	f.Add(1, 1, "", "")
	f.Fuzz(func(t *testing.T, width, height int, name, message string) {
		width, height = 1+min(max(width, 0), 300), 1+min(max(height, 0), 100)
		s := seen(3, 3, 1, podOf("foo", "a"+name, nil), podOf("foo", "b"+name, waiting(message, message)), podOf("foo", "c"+name, crashing))
		s.Object.Conditions = conditionsOf("False", message, message)
		lines := Screen{Reports: []status.Report{status.NewReport(s)}}.Frame(width, height, Style{Color: true}, screenTime())
		if len(lines) > height {
			t.Errorf("%d lines exceed the height %d", len(lines), height)
		}
		for _, l := range lines {
			if strings.ContainsAny(l, "\n\r\t") || width > 1 && ansi.StringWidth(l) > width {
				t.Errorf("line %q has a control character, or is wider than %d", l, width)
			}
		}
	})
}
