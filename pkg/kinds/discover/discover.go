// Package discover finds the kinds that a server serves, the declarations in their CRDs, and their
// replica fields. It also reads and sets counts through /scale.
package discover

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Kinds returns the kinds that can be patched and may have pods: kinds with /scale, custom kinds, and DaemonSets, in
// their preferred versions and sorted by group. If a group does not respond, Kinds omits it and also returns an error.
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
			kind := kinds.KindOf(gv.WithResource(r.Name), r.Kind, !r.Namespaced)
			if !slices.Contains(r.Verbs, "patch") || strings.Contains(r.Name, "/") {
				continue
			}
			if f.Scales(kind) || !kind.BuiltIn() || kind.RollsOut() {
				listed = append(listed, kind)
			}
		}
	}
	slices.SortFunc(listed, func(a, b kinds.Kind) int {
		return cmp.Or(cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Resource, b.Resource.Resource))
	})
	return listed, err
}

// Scales reports whether the server is known to serve /scale for a kind.
func (f *Finder) Scales(kind kinds.Kind) bool {
	served, err := f.serves(kind, "scale")
	return err == nil && served
}

// ParkedCounts returns the paths of fields that may contain the count of a parked object: the given path if any, the
// replica field if it is known, or else all candidates. It returns nil for objects that are not parked.
func (f *Finder) ParkedCounts(ctx context.Context, kind kinds.Kind, obj *unstructured.Unstructured, given *fieldpath.Path) (paths []string, err error) {
	if _, parked := obj.GetAnnotations()[apis.AnnotationParked]; !parked {
		return nil, nil
	}
	field, err := f.Find(ctx, kind, obj, given)
	if err == nil && field.Path != nil {
		return []string{field.Path.String()}, nil
	}
	if err == nil { // only /scale is known, because the user cannot read the CRD
		_, err = guess(ctx, f, query{kind: kind, obj: obj})
	}
	var unknown *UnknownFieldError
	if !errors.As(err, &unknown) {
		return nil, err
	}
	for _, c := range unknown.Candidates {
		paths = append(paths, c.Path.String())
	}
	return paths, nil
}
