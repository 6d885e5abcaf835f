package discover

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Field is the replica field of a kind.
type Field struct {
	Scale bool // the count is set through the /scale subresource
	// Path is the field in the object, or nil if only /scale is known, for example if the user cannot read the CRD.
	Path  *fieldpath.Path
	Found string // describes how the field was found
}

// String formats the field for messages.
func (f Field) String() string {
	if f.Path == nil {
		return "/scale"
	}
	return f.Path.String()
}

// UnknownFieldError means that the replica field of an object is unknown. This program never writes to a guessed field.
type UnknownFieldError struct {
	Kind kinds.Kind
	// Candidates lists possible fields, the most likely first. If it is empty, the kind has no replica count.
	Candidates []candidates.Field
}

func (e *UnknownFieldError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("%s has no replica count: no /scale, and no such field in .spec", e.Kind.CRD())
	}
	return fmt.Sprintf("%s has no /scale, and its replica field is unknown", e.Kind.CRD())
}

// ErrPerNode means that a kind has no count, because its objects run a pod on every node.
var ErrPerNode = errors.New("it runs one pod per node")

// Finder finds the replica fields of kinds. It caches the responses for each kind.
type Finder struct {
	Discovery discovery.CachedDiscoveryInterface
	Dynamic   dynamic.Interface

	answers sync.Map
	// unread contains the names of CRDs that the user is not allowed to read.
	unread sync.Map
	// discovering serializes reads of resource lists. The disk cache modifies shared lists while it encodes them.
	discovering sync.Mutex
}

// question is the key of a cached answer. part distinguishes answers of the same type T.
type question[T any] struct {
	kind schema.GroupVersionKind
	part string
}

// once returns the cached answer about a kind or, if kind.Kind is "", about a version. Without a cached
// answer, it calls ask and caches the answer unless ask returns an error.
func once[T any](f *Finder, kind schema.GroupVersionKind, part string, ask func() (T, error)) (T, error) {
	key := question[T]{kind, part}
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

// Find returns the replica field of a kind from the first source that has it. obj and given may be nil. Find returns an
// UnknownFieldError if no source has the field, or ErrPerNode if each object runs a pod on every node.
func (f *Finder) Find(ctx context.Context, kind kinds.Kind, obj *unstructured.Unstructured, given *fieldpath.Path) (Field, error) {
	q := query{kind, obj, given}
	for _, find := range sources() {
		if field, err := find(ctx, f, q); err != nil {
			return Field{}, err
		} else if field != nil {
			return *field, nil
		}
	}
	return Field{}, f.Undeclared(kind, &UnknownFieldError{Kind: kind})
}

// Invalidate makes the finder ignore its cached answers and the discovery cache on disk.
func (f *Finder) Invalidate() {
	f.answers.Clear()
	f.Discovery.Invalidate()
}

// serves reports whether the server serves a subresource of a kind. It reads the resource list of a
// version only once, because a version may have thousands of types.
func (f *Finder) serves(kind kinds.Kind, subresource string) (bool, error) {
	version := kind.Resource.GroupVersion()
	served, err := once(f, version.WithKind(""), "", func() (sets.Set[string], error) {
		f.discovering.Lock()
		defer f.discovering.Unlock()
		list, err := f.Discovery.ServerResourcesForGroupVersion(version.String())
		if err != nil {
			return nil, err
		}
		names := sets.New[string]()
		for _, r := range list.APIResources {
			names.Insert(r.Name)
		}
		return names, nil
	})
	if err != nil {
		return false, fmt.Errorf("find out whether %s has /%s: %w", kind.CRD(), subresource, err)
	}
	return served.Has(kind.Resource.Resource + "/" + subresource), nil
}

// Declare returns the kind with the declaration in its CRD, if the user can read CRDs. The version of a declared
// kind is the storage version, because its schema has the declared paths. If the declaration is invalid,
// Declare returns the unchanged kind and a DeclarationError.
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
		return declared, nil
	}
	return kind, err
}

// crd reads the CRD of a kind. It returns nil if the kind has no CRD, or if the user cannot read CRDs.
func (f *Finder) crd(ctx context.Context, kind kinds.Kind) (*unstructured.Unstructured, error) {
	if kind.BuiltIn() {
		return nil, nil // no CRD defines the kind, so do not ask the server
	}
	return once(f, kind.GroupVersionKind(), "", func() (*unstructured.Unstructured, error) {
		crd, err := f.Dynamic.Resource(kinds.CRDResource()).Get(ctx, kind.CRD(), metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			f.unread.Store(kind.CRD(), true)
			return nil, nil
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read the CRD of %s: %w", kind.CRD(), err)
		}
		return crd, nil
	})
}

// Unread reports whether the server has rejected a read of the kind's CRD, because the user lacks permission.
func (f *Finder) Unread(kind kinds.Kind) bool {
	_, refused := f.unread.Load(kind.CRD())
	return refused
}

// Undeclared returns err, an error about a declaration that a CRD seems to lack. If the user cannot
// read the CRD, Undeclared adds this reason, and the error also wraps ErrForbidden.
func (f *Finder) Undeclared(kind kinds.Kind, err error) error {
	if err == nil || !f.Unread(kind) {
		return err
	}
	return fmt.Errorf("%w; %w: no permission to read its CRD, which may declare more", err, outcome.ErrForbidden)
}

// scalePath returns the field that /scale writes (.spec.replicas in built-in kinds), or nil if it is unknown.
func scalePath(crd *unstructured.Unstructured, kind kinds.Kind) *fieldpath.Path {
	word := ""
	switch {
	case crd != nil:
		word = kinds.SourceIn(crd, kinds.CRDVersion(crd, "name", kind.Resource.Version)).SpecPath
	case kind.BuiltIn():
		word = ".spec.replicas"
	}
	path, err := fieldpath.ParsePath(word)
	if err != nil {
		return nil
	}
	return &path
}

// FromSource returns the result of read for the source of a custom kind, and caches it by kind and key.
func FromSource[T any](ctx context.Context, f *Finder, kind kinds.Kind, key string, read func(kinds.Source) (T, error)) (T, error) {
	return once(f, kind.GroupVersionKind(), key, func() (made T, err error) {
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

// source reads the CRD of a custom kind. If the user cannot read CRDs, it reads the schema in the OpenAPI document.
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
	return kinds.SourceIn(crd, kinds.CRDVersion(crd, "name", kind.Resource.Version)), nil
}

// Schema returns the OpenAPI v3 schema of a kind. Every authenticated user can read this schema.
func (f *Finder) Schema(kind kinds.Kind) (map[string]any, error) {
	return once(f, kind.GroupVersionKind(), "", func() (map[string]any, error) { return f.readSchema(kind) })
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
