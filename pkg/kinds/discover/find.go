package discover

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// Field is where the replica count of a kind lives.
type Field struct {
	// Scale says that the count is set through the /scale subresource.
	Scale bool
	// Path is the field in the object. Behind /scale of kinds that are not shipped
	// it is known only where the CRD can be read.
	Path *fieldpath.Path
	// Found says how the field was found, in words for a person.
	Found string
}

// String is the field as a person is told of it.
func (f Field) String() string {
	if f.Path == nil {
		return "/scale"
	}
	return f.Path.String()
}

// UnknownFieldError says that nothing tells which field of an object is its
// replica count. A guess is never written.
type UnknownFieldError struct {
	Kind kinds.Kind
	// Candidates are the fields that could be meant, the likeliest first; none
	// means that the kind has no replica count.
	Candidates []candidates.Field
}

func (e *UnknownFieldError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("%s has no replica count: no /scale, and no such field in .spec", e.Kind.CRD())
	}
	return fmt.Sprintf("%s has no /scale, and its CRD does not name the replica field", e.Kind.CRD())
}

// Total is how many pods the fields that could be the count of an object mean together;
// nil where it has none.
func (e *UnknownFieldError) Total() *int32 { return candidates.Total(e.Candidates) }

// NoCountError says that the objects of a kind have as many pods as there are
// nodes for them, so that nobody sets a count.
type NoCountError struct {
	Kind kinds.Kind
}

func (e *NoCountError) Error() string {
	return fmt.Sprintf("%s has no replica count: it runs one pod per node", e.Kind.CRD())
}

// Finder finds the replica fields of kinds. What the server says of a kind is
// asked once.
type Finder struct {
	Discovery discovery.CachedDiscoveryInterface
	Dynamic   dynamic.Interface

	// answers keeps what was asked of each kind.
	answers sync.Map
	// discovering guards Discovery: its caches on disk and in memory share the lists that
	// they encode.
	discovering sync.Mutex
}

// question is the key of an answer of type T about a kind.
type question[T any] struct {
	kind schema.GroupVersionKind
	part string
}

// once asks about a kind what has not been answered yet. It does not keep an error.
func once[T any](f *Finder, kind kinds.Kind, part string, ask func() (T, error)) (T, error) {
	key := question[T]{kind.GroupVersionKind(), part}
	kept, _ := f.answers.Load(key)
	if answer, known := kept.(T); known {
		return answer, nil
	}
	answer, err := ask()
	if err == nil {
		f.answers.Store(key, answer)
	}
	return answer, err
}

// Find finds the replica field of an object's kind: what the first of the sources says
// that knows it. Where none does, the error is an UnknownFieldError, and a
// NoCountError where there is none to be found.
func (f *Finder) Find(ctx context.Context, kind kinds.Kind, obj *unstructured.Unstructured, given *fieldpath.Path) (Field, error) {
	q := query{kind, obj, given}
	for _, find := range sources() {
		if field, err := find(ctx, f, q); err != nil {
			return Field{}, err
		} else if field != nil {
			return *field, nil
		}
	}
	return Field{}, &UnknownFieldError{Kind: kind}
}

// serves reports whether the server serves a subresource of a kind.
func (f *Finder) serves(kind kinds.Kind, subresource string) (bool, error) {
	f.discovering.Lock()
	list, err := f.Discovery.ServerResourcesForGroupVersion(kind.Resource.GroupVersion().String())
	f.discovering.Unlock()
	if err != nil {
		return false, fmt.Errorf("find out whether %s has /%s: %w", kind.CRD(), subresource, err)
	}
	for _, r := range list.APIResources {
		if r.Name == kind.Resource.Resource+"/"+subresource {
			return true, nil
		}
	}
	return false, nil
}

// Declare adds to a kind what its CRD declares of it, if this user may read that.
// What cannot be is a DeclarationError, and leaves the kind as it is.
func (f *Finder) Declare(ctx context.Context, kind kinds.Kind) (kinds.Kind, error) {
	if kind.Reconciled() || kind.BuiltIn() {
		return kind, nil
	}
	crd, err := f.crd(ctx, kind)
	if err != nil || crd == nil {
		return kind, err
	}
	declared, err := kinds.Declared(crd)
	if err == nil && declared.Reconciled() {
		kind.ReplicasPath, kind.Mapping = declared.ReplicasPath, declared.Mapping
	}
	return kind, err
}

// crd reads the CRD of a kind: nil for built-in kinds, and where this user may
// not read CRDs.
func (f *Finder) crd(ctx context.Context, kind kinds.Kind) (*unstructured.Unstructured, error) {
	return once(f, kind, "", func() (*unstructured.Unstructured, error) { return f.readCRD(ctx, kind) })
}

func (f *Finder) readCRD(ctx context.Context, kind kinds.Kind) (*unstructured.Unstructured, error) {
	if kind.BuiltIn() {
		return nil, nil //nolint:nilnil // no CRD defines it, so the server is not asked
	}
	crds := f.Dynamic.Resource(kinds.CRDResource())
	crd, err := crds.Get(ctx, kind.CRD(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // there is none to be had, and that is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", kind.CRD(), err)
	}
	return crd, nil
}

// scalePath is the field behind /scale, where it can be known: for built-in
// kinds it is always .spec.replicas.
func scalePath(crd *unstructured.Unstructured, kind kinds.Kind) *fieldpath.Path {
	word := ""
	switch {
	case crd != nil:
		scale := fieldpath.Object(crdVersion(crd, kind.Resource.Version), "subresources", "scale")
		word, _ = scale["specReplicasPath"].(string)
	case kind.BuiltIn():
		word = ".spec.replicas"
	}
	path, err := fieldpath.ParsePath(word)
	if err != nil {
		return nil
	}
	return &path
}

// FromSource returns what read finds in the source of a custom kind. It reads once for each
// kind and key.
func FromSource[T any](ctx context.Context, f *Finder, kind kinds.Kind, key string, read func(kinds.Source) (T, error)) (T, error) {
	return once(f, kind, key, func() (made T, err error) {
		source, err := f.source(ctx, kind)
		if err != nil {
			return made, err
		}
		if made, err = read(source); err != nil {
			return made, fmt.Errorf("the CRD %s: %w", kind.CRD(), err)
		}
		return made, nil
	})
}

// source reads what the server tells of a custom kind. Who may not read its CRD
// learns the schema from the OpenAPI document.
func (f *Finder) source(ctx context.Context, kind kinds.Kind) (kinds.Source, error) {
	crd, err := f.crd(ctx, kind)
	if err != nil {
		return kinds.Source{}, err
	}
	if crd == nil {
		served, err := f.serves(kind, "status")
		if err != nil {
			return kinds.Source{}, err
		}
		schema, err := f.Schema(kind)
		if err != nil {
			klog.FromContext(ctx).V(1).Info("Ignoring the schema of a kind", "kind", kind, "err", err)
		}
		return kinds.Source{Schema: schema, StatusServed: served}, nil
	}
	version := crdVersion(crd, kind.Resource.Version)
	source := kinds.Source{Schema: fieldpath.Object(version, "schema", "openAPIV3Schema"), Annotations: crd.GetAnnotations()}
	source.StatusServed = fieldpath.Object(version, "subresources", "status") != nil
	scale := fieldpath.Object(version, "subresources", "scale")
	source.SpecPath, _ = scale["specReplicasPath"].(string)
	source.StatusPath, _ = scale["statusReplicasPath"].(string)
	source.SelectorPath, _ = scale["labelSelectorPath"].(string)
	return source, nil
}

func crdVersion(crd *unstructured.Unstructured, version string) map[string]any {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["name"] == version {
			return v
		}
	}
	return nil
}

// Schema reads the OpenAPI v3 schema of a kind, which every authenticated user
// may.
func (f *Finder) Schema(kind kinds.Kind) (map[string]any, error) {
	return once(f, kind, "", func() (map[string]any, error) { return f.readSchema(kind) })
}

func (f *Finder) readSchema(kind kinds.Kind) (map[string]any, error) {
	gv := kind.Resource.GroupVersion()
	at := "apis/" + gv.String()
	if gv.Group == "" {
		at = "api/" + gv.Version
	}
	paths, err := f.Discovery.OpenAPIV3().Paths()
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.CRD(), err)
	}
	group, ok := paths[at]
	if !ok {
		return nil, fmt.Errorf("read the schema of %s: the server has none for %s", kind.CRD(), gv)
	}
	data, err := group.Schema("application/json")
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.CRD(), err)
	}
	return fieldpath.SchemaOf(data, kind.GroupVersionKind())
}
