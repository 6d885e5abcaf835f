// Package discover asks the server about kinds: which there are, what their CRDs
// declare, where their replica count lives, and how to read and set it.
package discover

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// Discovered is what is known of the replica count of one kind.
type Discovered struct {
	Kind kinds.Kind
	// Field is where the count lives, if something says it.
	Field *Field
	// Candidates are the fields that could be meant, if nothing says it.
	Candidates []candidates.Field
	// PerNode says that the kind has no count, but a pod on every node.
	PerNode bool
	// Err is why nothing could be found out.
	Err error
}

// Kinds lists the kinds that the server prefers and that could carry a replica
// count: those with /scale, and custom ones, in the order of their groups.
func (f *Finder) Kinds() ([]kinds.Kind, error) {
	lists, err := f.Discovery.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, err
	}
	var listed []kinds.Kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			kind := kinds.KindOf(mapping(gv, r))
			if !slices.Contains(r.Verbs, "patch") || strings.Contains(r.Name, "/") {
				continue
			}
			if served, err := f.serves(kind, "scale"); (err == nil && served) || !kind.BuiltIn() {
				listed = append(listed, kind)
			}
		}
	}
	slices.SortFunc(listed, func(a, b kinds.Kind) int {
		return cmp.Or(cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Resource, b.Resource.Resource))
	})
	return listed, err
}

func mapping(gv schema.GroupVersion, r metav1.APIResource) *meta.RESTMapping {
	m := &meta.RESTMapping{Resource: gv.WithResource(r.Name), GroupVersionKind: gv.WithKind(r.Kind), Scope: meta.RESTScopeRoot}
	if r.Namespaced {
		m.Scope = meta.RESTScopeNamespace
	}
	return m
}

// Discover finds out about one kind.
func (f *Finder) Discover(ctx context.Context, kind kinds.Kind) Discovered {
	field, err := f.Find(ctx, kind, nil, nil)
	var unknown *UnknownFieldError
	var none *NoCountError
	switch {
	case errors.As(err, &unknown):
		return Discovered{Kind: kind, Candidates: unknown.Candidates}
	case errors.As(err, &none):
		return Discovered{Kind: kind, PerNode: true}
	case err != nil:
		return Discovered{Kind: kind, Err: err}
	}
	return Discovered{Kind: kind, Field: &field}
}
