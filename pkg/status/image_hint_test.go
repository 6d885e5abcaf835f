package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/problem"
)

func TestHintImages(t *testing.T) {
	t.Parallel()
	const look = "look at it"
	foo := Object{Type: "imoocpod.batch.tutorial.kubebuilder.io", Name: "foo", Namespace: "shop", SetsImage: true, Generation: 1}
	changed := foo
	changed.Generation = 2
	owned := foo
	owned.Controller = &metav1.OwnerReference{}
	other := foo
	other.SetsImage = false
	for name, row := range map[string]struct {
		object Object
		code   problem.Code
		hint   string
		want   string
	}{
		"never changed": {foo, problem.CodeImagePullFailed, look, look + "; to set another image: kubectl imoocpod set image imoocpod/foo app=IMAGE -n shop --context=staging"},
		"pull":          {changed, problem.CodeImagePullFailed, look, look + "; to set another image: kubectl imoocpod set image imoocpod/foo app=IMAGE -n shop --context=staging; to return to the last one: kubectl imoocpod undo imoocpod/foo -n shop --context=staging"},
		"other problem": {foo, problem.CodeStartFailed, look, look},
		"no hint":       {foo, problem.CodeImagePullFailed, "", ""},
		"owned":         {owned, problem.CodeImagePullFailed, look, look},
		"other kind":    {other, problem.CodeImagePullFailed, look, look},
	} {
		problems := []problem.Problem{{Code: problem.CodeStartFailed, Hint: look}, {Code: row.code, Hint: row.hint, Container: "app"}}
		if hintImages(Snapshot{Object: row.object, Commands: commandline.Context{"--context=staging"}}, nil, problems); problems[1].Hint != row.want {
			t.Errorf("%s: %q, want %q", name, problems[1].Hint, row.want)
		}
	}
}

func TestMayHaveEarlier(t *testing.T) {
	t.Parallel()
	set := func(uid, controller types.UID) Child {
		return Child{Kind: "ReplicaSet", UID: uid, Controller: controller}
	}
	for name, row := range map[string]struct {
		generation int64
		children   []Child
		want       bool
	}{
		"never changed":           {1, nil, false},
		"changed":                 {2, nil, true},
		"only scaled":             {2, []Child{set("a", "web")}, false},
		"two templates":           {2, []Child{set("a", "web"), set("b", "web")}, true},
		"one and that of another": {2, []Child{set("a", "web"), set("b", "other")}, false},
		"through a Deployment":    {2, []Child{{Kind: "Deployment", UID: "deployment", Controller: "web"}, set("a", "deployment")}, true},
	} {
		if got := mayHaveEarlier(Object{UID: "web", Generation: row.generation}, row.children); got != row.want {
			t.Errorf("%s: %t, want %t", name, got, row.want)
		}
	}
}
