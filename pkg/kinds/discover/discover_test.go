package discover

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// Kinds returns the patchable kinds that are custom, have /scale, or are DaemonSets, sorted by group. If a group
// does not respond, Kinds returns the other kinds and an error.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := newServer(t, crd("{}", "{}"))
	list := func(version string, all ...metav1.APIResource) *metav1.APIResourceList {
		return &metav1.APIResourceList{GroupVersion: version, APIResources: all}
	}
	patch := metav1.Verbs{"patch"}
	s.more = []*metav1.APIResourceList{
		list("cells.example.com/v1", metav1.APIResource{Name: "cells", Kind: "Cell", Namespaced: true, Verbs: metav1.Verbs{"get"}}),
		list("a/b/c", metav1.APIResource{Name: "odds", Kind: "Odd", Namespaced: true, Verbs: patch}),
		list("alpha.example.com/v1", metav1.APIResource{Name: "zoos", Kind: "Zoo", Verbs: patch},
			metav1.APIResource{Name: "bars", Kind: "Bar", Namespaced: true, Verbs: patch}),
	}
	s.partial = errors.New("a group does not answer")
	found, err := s.finder().Kinds()
	var names []string
	for _, kind := range found {
		names = append(names, kind.CRD())
		if kind.Clusterwide != (kind.Kind == "Zoo") {
			t.Errorf("%s: Clusterwide = %t", kind, kind.Clusterwide)
		}
	}
	want := []string{
		"replicationcontrollers", "bars.alpha.example.com", "zoos.alpha.example.com",
		"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps", "sets.example.com",
	}
	if !errors.Is(err, s.partial) || !slices.Equal(names, want) {
		t.Errorf("Kinds = %v, %v, want %v and the error of the group", names, err, want)
	}
	s.more = nil
	s.Fail(apiserver.Path("/api"), apiserver.Fault{Err: down()})
	if found, err := s.finder().Kinds(); len(found) > 0 || err == nil {
		t.Errorf("server that does not respond: Kinds = %v, %v, want an error", found, err)
	}
}

// A finder reads the resource list of a version only once, because CRDs may add many types to the version.
func TestCostOfKinds(t *testing.T) {
	t.Parallel()
	const size = 10
	s := newServer(t)
	for i := range size {
		crd := parse(t, crd("{}", "{scale: {specReplicasPath: .spec.size}}"))
		crd.SetName(fmt.Sprint("crd-", i))
		for field, value := range map[string]string{"kind": "Set", "plural": "sets", "singular": "set"} {
			fieldpath.Object(crd.Object, "spec", "names")[field] = fmt.Sprint(value, i)
		}
		s.Create(crd)
	}
	f := s.finder()
	for range 2 {
		found, err := f.Kinds()
		scaled := 0
		for _, kind := range found {
			if !kind.BuiltIn() && f.Scales(kind) {
				scaled++
			}
		}
		if lists := s.count(apiserver.Path("/apis/example.com/")); err != nil || scaled != size || lists != 1 {
			t.Errorf("%d kinds with /scale after %d lists, error %v; want %d kinds after 1 list", scaled, lists, err, size)
		}
	}
}
