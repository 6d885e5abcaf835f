package cmd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// The hints list the children that can be restarted, by namespace. They omit kinds of the same name in
// other API groups.
func TestRestartHint(t *testing.T) {
	t.Parallel()
	children := []status.Child{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "b", Name: "two", Controller: "it"},
		{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "b", Name: "one", Controller: "it"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web", Controller: "it", Desired: new(int32(1))},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "none", Controller: "it", Desired: new(int32(0))},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "a", Name: "set", Controller: "it"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "deep", Controller: "that"},
		{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Namespace: "a", Name: "other", Controller: "it"},
	}
	const hint = "\nhint: restart the objects that it owns, although its controller may undo that: kubectl imoocpod restart "
	refused := errors.New("no")
	err := restartBelow(refused, "it", children)
	if got, want := outcome.HintLines(err, nil), hint+"deployment.apps/web -n a"+hint+"statefulset.apps/one statefulset.apps/two -n b"; got != want || !errors.Is(err, refused) {
		t.Errorf("hints %q, want %q", got, want)
	}
	if err := restartBelow(refused, "it", nil); outcome.HintLines(err, nil) != "" {
		t.Errorf("error without children: %q has a hint", err)
	}
}

// Anyone can create many objects with an owner reference. A suggested command names at most ten objects, so
// that its namespace is not cut off.
func TestRestartHintIsBounded(t *testing.T) {
	t.Parallel()
	var children []status.Child
	for i := range 100 {
		children = append(children, status.Child{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: fmt.Sprint("web-", i), Controller: "it"})
	}
	if hint := outcome.HintLines(restartBelow(errors.New("no"), "it", children), nil); strings.Count(hint, "deployment.apps/") != 10 || !strings.HasSuffix(hint, " -n a") {
		t.Errorf("hint for 100 children: %q, want 10 names and the namespace", hint)
	}
}
