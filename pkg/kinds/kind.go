// Package kinds knows replica resources: the kinds that the program ships, what a
// CRD declares of a kind, and the rights and the CRDs that a kind needs. All of it is values: package discover asks the server.
package kinds

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// FieldManager is the name under which everything this program writes is
// recorded in managedFields.
const FieldManager = "kubectl-imoocpod"

// Kind is what the program knows of one resource type.
type Kind struct {
	// Resource is the group, version and plural.
	Resource schema.GroupVersionResource
	// Kind is the name of the type in manifests and owner references.
	Kind string
	// Singular is the name of one object in messages.
	Singular string
	// Clusterwide says that objects of the kind are in no namespace.
	Clusterwide bool
	// ReplicasPath is the field that holds the desired count; empty: not known, or
	// there is none.
	ReplicasPath []string
	// Mapping says how "run-controller" reconciles the kind, if it does.
	Mapping Mapping
}

// KindOf is the kind that a REST mapping speaks of.
func KindOf(m *meta.RESTMapping) Kind {
	for _, shipped := range Shipped() {
		if m.Resource == shipped.Resource {
			return shipped
		}
	}
	return Kind{
		Resource:    m.Resource,
		Kind:        m.GroupVersionKind.Kind,
		Singular:    strings.ToLower(m.GroupVersionKind.Kind),
		Clusterwide: m.Scope.Name() == meta.RESTScopeNameRoot,
	}
}

// Shipped reports whether the kind is one that this program brings with it.
func (k Kind) Shipped() bool {
	return slices.ContainsFunc(Shipped(), func(s Kind) bool { return s.Resource == k.Resource })
}

// BuiltIn reports whether the kind is the API server's own.
func (k Kind) BuiltIn() bool {
	// The last two are not known to clients because servers of their own, within
	// the API server, serve them.
	return scheme.Scheme.IsGroupRegistered(k.Resource.Group) ||
		slices.Contains([]string{"apiextensions.k8s.io", "apiregistration.k8s.io"}, k.Resource.Group)
}

// GroupVersionKind is what manifests of the kind carry.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

// String is the type as kubectl prints it: the singular with its group.
func (k Kind) String() string {
	if k.Resource.Group == "" {
		return k.Singular
	}
	return k.Singular + "." + k.Resource.Group
}

// Path is the replica field as a path, nil for kinds that do not say it.
func (k Kind) Path() *fieldpath.Path {
	if len(k.ReplicasPath) == 0 {
		return nil
	}
	return new(fieldpath.Fields(k.ReplicasPath...))
}

// CRD is the name of the kind's custom resource definition.
func (k Kind) CRD() string {
	return k.Resource.GroupResource().String()
}

// IsPod reports whether objects of the kind are pods.
func (k Kind) IsPod() bool { return k.CRD() == "pods" }

// Desired reads the desired count of an object; without one it is the API
// convention's default of one. What is no whole number from 0 to 2147483647 is
// an error: a schema need not forbid it.
func (k Kind) Desired(obj *unstructured.Unstructured) (int32, error) {
	path := k.ReplicasPath
	if len(path) == 0 {
		path = ImoocPod().ReplicasPath // Where most kinds have it
	}
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the count of %s: %w", obj.GetName(), err)
	case !found || value == nil:
		return 1, nil
	}
	if n, is := fieldpath.Integer(value); is && n >= 0 && n <= math.MaxInt32 {
		return int32(n), nil
	}
	return 0, fmt.Errorf(".%s is %s: it must be a whole number from 0 to %d", strings.Join(path, "."), shown(value), math.MaxInt32)
}

// shown is a value of a field for a message: as JSON, and not at any length.
func shown(value any) string {
	const longest = 64
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a %T", value)
	}
	if len(text) > longest {
		return fmt.Sprintf("%s…", strings.ToValidUTF8(string(text[:longest]), ""))
	}
	return string(text)
}
