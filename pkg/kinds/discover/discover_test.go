package discover

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds returns patchable custom kinds and kinds with /scale, sorted by group. If a group does not
// respond, Kinds returns the other kinds and an error.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.serve("example.com/v1", "Set", "sets")
	s.serve("apps/v1", "Deployment", "deployments", "scale")
	s.resources[1].APIResources = append(s.resources[1].APIResources, metav1.APIResource{Name: "controllerrevisions", Kind: "ControllerRevision", Verbs: metav1.Verbs{"patch"}})
	s.serve("cells.example.com/v1", "Cell", "cells")
	s.resources[2].APIResources[0].Verbs = metav1.Verbs{"get"} // no patch
	s.serve("a/b/c", "Odd", "odds")
	s.serve("alpha.example.com/v1", "Zoo", "zoos")
	s.resources[4].APIResources[0].Namespaced = false
	s.resources[4].APIResources = append(s.resources[4].APIResources, metav1.APIResource{Name: "bars", Kind: "Bar", Verbs: metav1.Verbs{"patch"}, Namespaced: true})
	s.partial = errors.New("a group does not answer")
	found, err := s.finder().Kinds()
	var names []string
	for _, kind := range found {
		names = append(names, kind.CRD())
		if kind.Clusterwide != (kind.Kind == "Zoo") {
			t.Errorf("%s is in no namespace: %t", kind, kind.Clusterwide)
		}
	}
	if !errors.Is(err, s.partial) || !slices.Equal(names, []string{"bars.alpha.example.com", "zoos.alpha.example.com", "deployments.apps", "sets.example.com"}) {
		t.Errorf("it finds %v, %v", names, err)
	}
	s.resources = nil
	if found, err := s.finder().Kinds(); len(found) > 0 || !errors.Is(err, s.partial) {
		t.Errorf("where nothing answers, it finds %v, %v", found, err)
	}
}

// The resource list of a version is read only once, because the CRDs of a user can add many types to the
// version.
func TestCostOfKinds(t *testing.T) {
	t.Parallel()
	const size = 100
	s := newServer(t)
	s.serve("example.com/v1", "Set", "sets", "scale")
	s.resources[0].APIResources = slices.Repeat(s.resources[0].APIResources, size)
	f := s.finder()
	for range 2 {
		found, err := f.Kinds()
		if err != nil || len(found) != size || !f.Scales(found[0]) || s.asked["resources"] != 1 {
			t.Errorf("%d kinds after %d questions, %v", len(found), s.asked["resources"], err)
		}
	}
}
