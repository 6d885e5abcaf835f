package discover

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// source returns the replica field of an object, or nil if it does not know the field. An error ends the search.
type source func(ctx context.Context, f *Finder, q query) (*Field, error)

// query describes a kind or an object whose replica field is wanted.
type query struct {
	kind  kinds.Kind
	obj   *unstructured.Unstructured // nil if it has not been read
	given *fieldpath.Path            // the path on the command line, or nil
}

// sources returns all sources in order of precedence.
func sources() []source {
	return []source{givenPath, nodes, shippedKind, scaleSubresource, declaration, annotation, guess}
}

func givenPath(_ context.Context, _ *Finder, q query) (*Field, error) {
	if q.given == nil {
		return nil, nil
	}
	return &Field{Path: q.given, Found: "--replicas-path"}, nil
}

// nodes returns ErrPerNode for a kind that runs a pod on every node.
func nodes(_ context.Context, _ *Finder, q query) (*Field, error) {
	if q.kind.Mapping.Strategy.WithoutReplicas() {
		return nil, fmt.Errorf("%s has no replica count: %w", q.kind.CRD(), ErrPerNode)
	}
	return nil, nil
}

// shippedKind returns the field of a kind that ships with this program. The CRD may lack /scale,
// because another program may have installed a CRD with the same name. Callers must handle this.
func shippedKind(_ context.Context, _ *Finder, q query) (*Field, error) {
	if !q.kind.Shipped() {
		return nil, nil
	}
	return &Field{Scale: true, Path: q.kind.Path(), Found: "built in"}, nil
}

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

// declaration returns the field that the CRD of a reconciled kind declares.
func declaration(_ context.Context, _ *Finder, q query) (*Field, error) {
	if !q.kind.Reconciled() {
		return nil, nil
	}
	return &Field{Path: q.kind.Path(), Found: "annotation of the CRD"}, nil
}

// annotation returns the field in the annotation imoocpod.dev/replicas-path of the CRD.
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

// guess returns an UnknownFieldError with candidates from the schema and the object.
func guess(_ context.Context, f *Finder, q query) (*Field, error) {
	fields, err := f.Schema(q.kind)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if q.obj != nil {
		content = q.obj.Object
	}
	return nil, f.Undeclared(q.kind, &UnknownFieldError{Kind: q.kind, Candidates: candidates.Fields(fields, content)})
}
