package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/test/models"
)

func ownedPod(name string, owner types.UID) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestReportPods(t *testing.T) {
	t.Parallel()
	pods := []corev1.Pod{ownedPod("foo-10", "u"), ownedPod("foo-2", "u"), ownedPod("foo-0", "u")}
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := Snapshot{Object: Object{Identity: Identity{Type: "a.b", Namespace: "ns", Name: "foo", UID: "u", Created: created}, Evidence: Evidence{Generation: 1}}, Pods: models.Of(pods)}
	r := NewReport(s)
	var names []string
	for _, p := range r.Pods {
		names = append(names, p.Name)
	}
	if want := []string{"foo-0", "foo-2", "foo-10"}; !slices.Equal(names, want) {
		t.Errorf("pods = %v, want %v", names, want)
	}
	if r.APIVersion != ReportVersion || r.Kind != "StatusReport" || r.Metadata.Name != "foo" || !r.Metadata.CreationTimestamp.Time.Equal(created) {
		t.Errorf("report has a wrong version, kind, name, or creation time: %+v", r)
	}
	if r.Conditions == nil {
		t.Error("Conditions is nil, want an empty list")
	}
	if gone := r.Gone(); gone.Verdict != Deleted || gone.Hint != "" {
		t.Errorf("Gone() = %+v, want verdict Deleted and no hint", gone)
	}
}

func TestRelevantEvents(t *testing.T) {
	t.Parallel()
	pods := []problem.Pod{{UID: "ready", Ready: true}}
	events := []problem.Event{{About: "ready", Object: "/ready", Count: 1}, {About: "it", Object: "/it", Count: 1}}
	for _, uid := range []types.UID{"a", "b", "c", "d", "e", "f"} {
		pods = append(pods, problem.Pod{UID: uid})
		events = append(events, problem.Event{About: uid, Object: "/" + string(uid), Count: 1})
	}
	var shown []string
	for _, e := range relevant(events, pods) {
		shown = append(shown, e.Object)
	}
	if got := strings.Join(shown, " "); got != "/it /a /b /c /d /e" {
		t.Errorf("events shown = %q, want those of the object and of the first five pods that are not ready", got)
	}
}
