package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/test/models"
)

func TestHintImages(t *testing.T) {
	t.Parallel()
	const look = "look at it"
	const set = look + "; to set another image: kubectl imoocpod set image imoocpod/foo app=IMAGE -n shop --context=staging"
	foo := Object{Identity: Identity{Type: "imoocpod.batch.tutorial.kubebuilder.io", Name: "foo", Namespace: "shop", SetsImage: true, Images: map[string]string{"app": "bad"}}}
	owned, other, fixed, stuck := foo, foo, foo, foo
	owned.Controller = &metav1.OwnerReference{}
	other.SetsImage = false
	fixed.Images = map[string]string{"app": "good"}
	stuck.Images, stuck.Kind, stuck.Type = fixed.Images, "StatefulSet", "statefulset.apps"
	pod := func(name, image string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	failing := pod("foo-1", "bad", corev1.ConditionFalse)
	for name, row := range map[string]struct {
		object Object
		beside corev1.Pod
		code   problem.Code
		hint   string
		want   string
	}{
		"only the bad image":   {foo, pod("foo-0", "bad", corev1.ConditionFalse), problem.CodeImagePullFailed, look, set},
		"other image, unready": {foo, pod("foo-0", "older", corev1.ConditionFalse), problem.CodeImagePullFailed, look, set},
		"other image, ready":   {foo, pod("foo-0", "good", corev1.ConditionTrue), problem.CodeImagePullFailed, look, set + "; to return to the last one: kubectl imoocpod undo imoocpod/foo -n shop --context=staging"},
		"already fixed":        {fixed, pod("foo-0", "good", corev1.ConditionTrue), problem.CodeImagePullFailed, look, look},
		"fixed, StatefulSet":   {stuck, pod("foo-0", "good", corev1.ConditionTrue), problem.CodeImagePullFailed, look, look + "; the pod template already has another image; to replace these pods: kubectl delete pod foo-1 -n shop --context=staging"},
		"not an image problem": {foo, failing, problem.CodeStartFailed, look, look},
		"no hint":              {foo, failing, problem.CodeImagePullFailed, "", ""},
		"has a controller":     {owned, failing, problem.CodeImagePullFailed, look, look},
		"unknown image path":   {other, failing, problem.CodeImagePullFailed, look, look},
	} {
		problems := []problem.Problem{{Code: problem.CodeStartFailed, Hint: look}, {Code: row.code, Hint: row.hint, Container: "app", Pods: []string{"foo-1"}}}
		pods := models.Of([]corev1.Pod{row.beside, failing})
		hintImages(Snapshot{Object: row.object, Pods: pods, Commands: commandline.Context{"--context=staging"}}, problems)
		if problems[1].Hint != row.want {
			t.Errorf("%s: hint = %q, want %q", name, problems[1].Hint, row.want)
		}
	}
}
