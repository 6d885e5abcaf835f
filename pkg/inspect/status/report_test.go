package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func ownedPod(name string, owner types.UID) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// NewPod sets the status of a pod as tables show it, and the reason why the pod is not ready.
func TestPodStatus(t *testing.T) {
	t.Parallel()
	container := func(ready bool, restarts int32, state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Ready: ready, RestartCount: restarts, State: state}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, test := range map[string]struct {
		change   func(*corev1.Pod)
		status   string
		reason   string
		ready    bool
		readies  int
		restarts int32
	}{
		"running and ready": {
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(true, 2, running)}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}, "Running", "", true, 1, 2,
		},
		"running and not ready": {
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(false, 0, running)}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			}, "Running", "", false, 0, 0,
		},
		"no node": {
			func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}
			}, "Pending", "0/1 nodes are available", false, 0, 0,
		},
		"image cannot be pulled": {
			func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(false, 0, corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
				})}
			}, "ImagePullBackOff", "no such image", false, 0, 0,
		},
		"ended, with a code alone": {
			func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(false, 1, corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3},
				})}
			}, "Error", "exit code 3", false, 0, 1,
		},
		"ended, and said why": {
			func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(false, 0, corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, Message: "out of memory"},
				})}
			}, "OOMKilled", "out of memory", false, 0, 0,
		},
		"evicted": {
			func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "the node was low on memory"
			}, "Evicted", "the node was low on memory", false, 0, 0,
		},
		"ending, though still ready": {
			func(p *corev1.Pod) {
				p.DeletionTimestamp = new(metav1.Now())
				p.Status.ContainerStatuses = []corev1.ContainerStatus{container(true, 0, running)}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}, "Terminating", "", false, 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := ownedPod("foo-0", "u")
			test.change(&pod)
			p := problem.NewPod(&pod)
			if p.Status != test.status || p.Reason != test.reason || p.Ready != test.ready || p.ReadyContainers != test.readies || p.Restarts != test.restarts {
				t.Errorf("got %+v, want %+v", p, test)
			}
			if p.Containers != 1 {
				t.Errorf("%d containers, want 1", p.Containers)
			}
		})
	}
}

// A report lists the pods of the object in the order of their slots.
func TestReportPods(t *testing.T) {
	t.Parallel()
	pods := []corev1.Pod{ownedPod("foo-10", "u"), ownedPod("foo-2", "u"), ownedPod("foo-0", "u")}
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := NewReport(Snapshot{Object: Object{Identity: Identity{Type: "a.b", Namespace: "ns", Name: "foo", UID: "u", Created: created}, Evidence: Evidence{Generation: 1}}, Pods: problem.NewPods(pods)})
	var names []string
	for _, p := range r.Pods {
		names = append(names, p.Name)
	}
	if want := []string{"foo-0", "foo-2", "foo-10"}; !slices.Equal(names, want) {
		t.Errorf("the pods are %v, want %v", names, want)
	}
	if r.APIVersion != ReportVersion || r.Kind != "StatusReport" || r.Metadata.Name != "foo" || !r.Metadata.CreationTimestamp.Time.Equal(created) {
		t.Errorf("the report is %+v", r)
	}
	if r.Conditions == nil {
		t.Error("no conditions must be an empty list, not null")
	}
	if gone := r.Gone(); gone.Verdict != Deleted || gone.Hint != "" {
		t.Errorf("gone, it is %+v", gone)
	}
}

// A report has no events of ready pods, and the events of at most five unready pods.
func TestRelevantEvents(t *testing.T) {
	t.Parallel()
	pods := []problem.Pod{{UID: "ready", Ready: true}}
	events := []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "ready", Name: "ready"}}, {InvolvedObject: corev1.ObjectReference{UID: "it", Name: "it"}}}
	for _, uid := range []types.UID{"a", "b", "c", "d", "e", "f"} {
		pods = append(pods, problem.Pod{UID: uid})
		events = append(events, corev1.Event{InvolvedObject: corev1.ObjectReference{UID: uid, Name: string(uid)}})
	}
	var shown []string
	for _, e := range relevant(events, pods) {
		shown = append(shown, e.Object)
	}
	if got := strings.Join(shown, " "); got != "/it /a /b /c /d /e" {
		t.Errorf("it shows the events of %s", got)
	}
}

// The verdict is checked again when the pause ends.
func TestRecheckAtTheEndOfAPause(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 3 * time.Second: 3 * time.Second, time.Hour: time.Hour} {
		o := Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: wrote("", 5, 0)}, UserPause: apis.Pause{Until: lookedAt().Add(left)}}
		if got := NewReport(Snapshot{Object: o, Now: lookedAt()}).Recheck; got != want {
			t.Errorf("the pause ends in %s: it is looked at again in %s, want %s", left, got, want)
		}
	}
}
