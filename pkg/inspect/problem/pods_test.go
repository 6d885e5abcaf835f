package problem

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func lookedAt() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// podRow is a pod with its model and its problem.
type podRow struct {
	Name    string
	Deleted bool
	// If Spec is nil, the pod has the containers of the status, and the readiness gates in Gates.
	Spec   *corev1.PodSpec
	Gates  []corev1.PodConditionType
	Status corev1.PodStatus
	Events []corev1.Event

	// Model contains the status, the containers, and the restarts in the model. Ended is checked unless it is "".
	Model, Reason, Ended string
	Ready, Probed        bool
	// Problem is the code and the message of the problem, or "" if there is none.
	Problem string
	Fatal   bool
}

func (row podRow) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "p"}, Status: row.Status}
	if row.Deleted {
		pod.DeletionTimestamp = new(metav1.NewTime(lookedAt()))
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodRunning
	}
	if row.Spec != nil {
		pod.Spec = *row.Spec
		return pod
	}
	for _, c := range row.Status.InitContainerStatuses {
		spec := corev1.Container{Name: c.Name}
		if c.Name == "side" {
			spec.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, spec)
	}
	for _, c := range row.Status.ContainerStatuses {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c.Name})
	}
	for _, gate := range row.Gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
	return pod
}

// Lasting returns exactly the fatal problems.
func TestPods(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/pods.yaml", lookedAt(), func(t *testing.T, row podRow) {
		pod := row.pod()
		p := NewPod(pod)
		model := fmt.Sprintf("%s, %d of %d ready, %d restarts", p.Status, p.ReadyContainers, p.Containers, p.Restarts)
		if model != row.Model || p.Reason != row.Reason || row.Ended != "" && p.Ended() != row.Ended {
			t.Errorf("model %q, reason %q, ended %q; want %q, %q, %q", model, p.Reason, p.Ended(), row.Model, row.Reason, row.Ended)
		}
		if p.Ready != row.Ready || p.Probed != row.Probed {
			t.Errorf("ready %t, probed %t; want %t, %t", p.Ready, p.Probed, row.Ready, row.Probed)
		}
		f, found := OfPod(pod, p.Ended(), Context{Now: lookedAt(), Events: map[types.UID][]Event{"p": SortEvents(row.Events)}})
		problem := ""
		if found {
			problem = fmt.Sprintf("%s: %s", f.Code, f.Message)
		}
		if problem != row.Problem || f.Fatal != row.Fatal {
			t.Errorf("problem %q, fatal %t; want %q, fatal %t", problem, f.Fatal, row.Problem, row.Fatal)
		}
		code, message := Lasting(pod)
		if lasts := code != ""; lasts != f.Fatal || lasts && code != f.Code || lasts == (message == "") {
			t.Errorf("Lasting() = %q, %q, but OfPod() found %q, fatal %t", code, message, f.Code, f.Fatal)
		}
	})
}
