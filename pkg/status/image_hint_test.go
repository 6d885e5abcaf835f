package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"never changed": {foo, problem.CodeImagePullFailed, look, look + "; to set another image: kubectl imoocpod set image imoocpod/foo app=IMAGE -n shop"},
		"pull":          {changed, problem.CodeImagePullFailed, look, look + "; to set another image: kubectl imoocpod set image imoocpod/foo app=IMAGE -n shop; to return to the last one: kubectl imoocpod undo imoocpod/foo -n shop"},
		"other problem": {foo, problem.CodeStartFailed, look, look},
		"no hint":       {foo, problem.CodeImagePullFailed, "", ""},
		"owned":         {owned, problem.CodeImagePullFailed, look, look},
		"other kind":    {other, problem.CodeImagePullFailed, look, look},
	} {
		problems := []problem.Problem{{Code: problem.CodeStartFailed, Hint: look}, {Code: row.code, Hint: row.hint, Container: "app"}}
		if hintImages(row.object, problems); problems[1].Hint != row.want {
			t.Errorf("%s: %q, want %q", name, problems[1].Hint, row.want)
		}
	}
}
