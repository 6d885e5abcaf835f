// Package kinds describes kinds that have pods: shipped kinds, kinds that CRDs declare, and built-in
// workloads. It also makes RBAC rules and CRDs. Unlike package discover, it sends no requests.
package kinds

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// FieldManager is the field manager of the writes of this program, unless the user sets --field-manager.
const FieldManager = "kubectl-imoocpod"

// Kind describes one resource type of the server.
type Kind struct {
	Resource     schema.GroupVersionResource // the group, the version, and the plural
	Kind         string                      // the kind in manifests and owner references
	Singular     string                      // the singular name of the resource, for messages
	Clusterwide  bool                        // the objects are cluster-scoped
	ReplicasPath []string                    // the path of the desired count; empty if unknown or if there is none
	Mapping      Mapping                     // how "run-controller" reconciles the kind; zero if it does not
}

// KindOf returns the kind of a resource. A shipped kind includes its replica field and its mapping.
func KindOf(resource schema.GroupVersionResource, kind string, clusterwide bool) Kind {
	for _, shipped := range Shipped() {
		if resource == shipped.Resource {
			return shipped
		}
	}
	return Kind{Resource: resource, Kind: kind, Singular: strings.ToLower(kind), Clusterwide: clusterwide}
}

// Shipped reports whether the kind ships with this program.
func (k Kind) Shipped() bool {
	return slices.ContainsFunc(Shipped(), func(s Kind) bool { return s.Resource == k.Resource })
}

// BuiltIn reports whether the kind is built into Kubernetes.
func (k Kind) BuiltIn() bool {
	// The two groups below are not in the client's scheme, because extension servers inside the API server serve them.
	return scheme.Scheme.IsGroupRegistered(k.Resource.Group) ||
		slices.Contains([]string{"apiextensions.k8s.io", "apiregistration.k8s.io"}, k.Resource.Group)
}

// GroupVersionKind returns the group, the version, and the kind, as in manifests.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

// String returns the type as kubectl prints it: the singular with its group.
func (k Kind) String() string {
	if k.Resource.Group == "" {
		return k.Singular
	}
	return k.Singular + "." + k.Resource.Group
}

// Path returns the path of the replica field, or nil if ReplicasPath is empty.
func (k Kind) Path() *fieldpath.Path {
	if len(k.ReplicasPath) == 0 {
		return nil
	}
	return new(fieldpath.Fields(k.ReplicasPath...))
}

// CRD returns plural.group, which is the name of the kind's CustomResourceDefinition, if any.
func (k Kind) CRD() string {
	return k.Resource.GroupResource().String()
}

// CRDs returns the names of the CRDs of kinds.
func CRDs(all []Kind) (names []string) {
	for _, kind := range all {
		names = append(names, kind.CRD())
	}
	return names
}

// IsPod reports whether objects of the kind are pods.
func (k Kind) IsPod() bool { return k.CRD() == "pods" }

// Desired returns the desired count of an object. The default is one. Desired returns an error if the
// count is not a whole number from 0 to 2147483647, even if the schema allows such a count.
func (k Kind) Desired(obj *unstructured.Unstructured) (int32, error) {
	path := k.ReplicasPath
	if len(path) == 0 {
		path = ImoocPod().ReplicasPath // the field of most kinds
	}
	n, found, err := fieldpath.Fields(path...).Get(obj.Object)
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 1, nil
	case n < 0 || n > math.MaxInt32:
		return 0, fmt.Errorf(".%s is %d: it must be a whole number from 0 to %d", strings.Join(path, "."), n, math.MaxInt32)
	}
	return int32(n), nil
}
