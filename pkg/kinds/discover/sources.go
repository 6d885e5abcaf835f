package discover

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// source may know where the replica count of an object lives. It knows nothing where
// the field is nil; an error ends the search.
type source func(ctx context.Context, f *Finder, q query) (*Field, error)

// query says of which object the field is sought.
type query struct {
	kind kinds.Kind
	// obj is nil where none is at hand.
	obj *unstructured.Unstructured
	// given is the path that somebody gave.
	given *fieldpath.Path
}

// sources are all that may know, those that count most first. A new one is a
// function and its place in this list.
func sources() []source {
	return []source{givenPath, nodes, shippedKind, scaleSubresource, declaration, annotation, guess}
}

// givenPath is --replicas-path.
func givenPath(_ context.Context, _ *Finder, q query) (*Field, error) {
	if q.given == nil {
		return nil, nil
	}
	return &Field{Path: q.given, Found: "--replicas-path"}, nil
}

// nodes ends the search for a kind that has as many pods as there are nodes.
func nodes(_ context.Context, _ *Finder, q query) (*Field, error) {
	if q.kind.Mapping.Strategy.WithoutReplicas() {
		return nil, &NoCountError{Kind: q.kind}
	}
	return nil, nil
}

// shippedKind is what this program has compiled in. That such a kind has /scale is
// not asked: a CRD of somebody else's may be without.
func shippedKind(_ context.Context, _ *Finder, q query) (*Field, error) {
	if !q.kind.Shipped() {
		return nil, nil
	}
	return &Field{Scale: true, Path: q.kind.Path(), Found: "built in"}, nil
}

// scaleSubresource is /scale, if it is served.
func scaleSubresource(ctx context.Context, f *Finder, q query) (*Field, error) {
	served, err := f.serves(q.kind, "scale")
	if err != nil || !served {
		return nil, err
	}
	crd, err := f.crd(ctx, q.kind)
	if err != nil {
		return nil, err
	}
	return &Field{Scale: true, Path: scalePath(crd, q.kind), Found: "/scale"}, nil
}

// declaration is what the CRD of a kind that run-controller reconciles declares.
func declaration(_ context.Context, _ *Finder, q query) (*Field, error) {
	if !q.kind.Reconciled() {
		return nil, nil
	}
	return &Field{Path: q.kind.Path(), Found: "annotation of the CRD"}, nil
}

// annotation is imoocpod.dev/replicas-path of the CRD.
func annotation(ctx context.Context, f *Finder, q query) (*Field, error) {
	crd, err := f.crd(ctx, q.kind)
	if err != nil || crd == nil {
		return nil, err
	}
	word := crd.GetAnnotations()[kinds.AnnotationReplicasPath]
	if word == "" {
		return nil, nil
	}
	path, err := fieldpath.ParsePath(word)
	if err != nil {
		return nil, fmt.Errorf("annotation %s of the CRD %s: %w", kinds.AnnotationReplicasPath, q.kind.CRD(), err)
	}
	return &Field{Path: &path, Found: "annotation of the CRD"}, nil
}

// guess knows only fields that could be meant, from the schema. A guess is never
// written: it is an error that lists them.
func guess(_ context.Context, f *Finder, q query) (*Field, error) {
	fields, err := f.Schema(q.kind)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if q.obj != nil {
		content = q.obj.Object
	}
	return nil, &UnknownFieldError{Kind: q.kind, Candidates: candidates.Fields(fields, content)}
}
