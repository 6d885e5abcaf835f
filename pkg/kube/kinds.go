package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// KindNamed returns the kind with this plural, singular, short name, plural.group, or plural.version.group.
func (c *Clients) KindNamed(ctx context.Context, word string) (kinds.Kind, error) {
	full, short := schema.ParseResourceArg(word)
	var gvk schema.GroupVersionKind
	var err error
	if full != nil {
		gvk, err = c.Mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		gvk, err = c.Mapper.KindFor(short.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		return kinds.Kind{}, missingType(word, &outcome.UnknownTypeError{Type: word})
	}
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return kinds.Kind{}, fmt.Errorf("find the type %s: %w", word, err)
	}
	return c.KindOf(ctx, mapping)
}

// Serves reports whether discovery lists a kind. It returns true if discovery fails. A request for objects does
// not show this to a user without permission: the server answers Forbidden whether or not the kind exists.
func (c *Clients) Serves(kind kinds.Kind) bool {
	_, err := c.Mapper.RESTMapping(kind.GroupVersionKind().GroupKind())
	return !meta.IsNoMatchError(err)
}

// KindOf returns the kind of a mapping, with the declaration in the CRD. It ignores an invalid declaration.
func (c *Clients) KindOf(ctx context.Context, mapping *meta.RESTMapping) (kinds.Kind, error) {
	clusterwide := mapping.Scope.Name() == meta.RESTScopeNameRoot
	kind, err := c.Finder.Declare(ctx, kinds.KindOf(mapping.Resource, mapping.GroupVersionKind.Kind, clusterwide))
	if errors.As(err, new(*kinds.DeclarationError)) {
		// The commands "kinds" and "check" report the error.
		klog.FromContext(ctx).V(1).Info("Ignoring the annotations of a CRD", "kind", kind, "err", err)
		return kind, nil
	}
	return kind, err
}

// ReplicaKinds returns the kinds that are known to have replicas: Deployments, StatefulSets,
// DaemonSets, the shipped kinds (even if they are not installed), and kinds whose CRD has /scale, a
// declaration, or the annotation replicas-path. It omits ReplicaSets, which belong to Deployments.
func (c *Clients) ReplicaKinds(ctx context.Context) ([]kinds.Kind, error) {
	crds, err := c.metadata.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		crds = &metav1.PartialObjectMetadataList{}
	case err != nil:
		return nil, fmt.Errorf("list the CRDs: %w", err)
	}
	declared, err := c.declaredKinds(ctx, crds.Items)
	if err != nil {
		return nil, err
	}
	served, err := c.Finder.Kinds()
	names := sets.New(kinds.CRDs(served)...)
	if slices.ContainsFunc(crds.Items, func(crd metav1.PartialObjectMetadata) bool { return !names.Has(crd.Name) }) {
		c.Finder.Invalidate() // a CRD is newer than the cache
		served, err = c.Finder.Kinds()
	}
	if len(served) == 0 && err != nil {
		return nil, err
	}
	all := append(kinds.Shipped(), declared...)
	names = sets.New(kinds.CRDs(all)...)
	for _, kind := range served {
		if !names.Has(kind.CRD()) && (kind.RollsOut() || !kind.BuiltIn() && c.Finder.Scales(kind)) {
			all = append(all, kind)
		}
	}
	return all, nil
}

// declaredKinds reads in full only the CRDs with a declaration or the annotation replicas-path, and
// returns their kinds, except shipped kinds.
func (c *Clients) declaredKinds(ctx context.Context, crds []metav1.PartialObjectMetadata) ([]kinds.Kind, error) {
	var declared []kinds.Kind
	for i := range crds {
		if said := crds[i].Annotations; said[kinds.AnnotationPlan]+said[kinds.AnnotationReplicasPath] == "" {
			continue
		}
		crd, err := c.Dynamic.Resource(kinds.CRDResource()).Get(ctx, crds[i].Name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the CRD %s: %w", crds[i].Name, err)
		}
		// The commands "kinds" and "check" report an invalid declaration.
		if kind, err := kinds.Declared(crd); err == nil && !kind.Shipped() {
			declared = append(declared, kind)
		}
	}
	return declared, nil
}
