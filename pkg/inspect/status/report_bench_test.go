package status

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// BenchmarkReport measures reports on objects with ready pods, and on objects whose pods cannot pull their images.
func BenchmarkReport(b *testing.B) {
	waiting := []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
	}}}
	for _, n := range []int{10, 1000, 10_000} {
		for _, name := range []string{"ready", "failed"} {
			s := Snapshot{Object: Object{Identity: Identity{Type: "imoocpods", Name: "foo", UID: "foo"}, Counts: Counts{Desired: int32(n), Current: int32(n)}}, Now: time.Unix(0, 0)}
			for i := range n {
				pod := ownedPod(fmt.Sprintf("foo-0a1b2c3d-%d", i), s.Object.UID)
				pod.UID = types.UID(fmt.Sprint(i))
				ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(0, 0)}
				if name == "failed" {
					ready.Status, pod.Status.ContainerStatuses = corev1.ConditionFalse, waiting
				} else {
					s.Object.Ready++
				}
				pod.Status.Conditions = []corev1.PodCondition{ready}
				s.Pods = append(s.Pods, problem.NewPod(&pod))
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					NewReport(s)
				}
			})
		}
	}
}
