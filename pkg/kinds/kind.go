// Package kinds describes kinds that have pods: shipped kinds, kinds that CRDs declare, and built-in
// workloads. It also makes RBAC rules and CRDs. Unlike package discover, it sends no requests.
package kinds

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	return schema.GroupResource{Group: k.Resource.Group, Resource: k.Singular}.String()
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

// Mapping declares how a kind is reconciled: the strategy, and the fields that the controller reads and writes. A path
// lists the field names from the root of the object. If the kind lacks a field, its path is empty.
type Mapping struct {
	Strategy Strategy
	// TemplatePath is the path of the pod template, and Template is the default template.
	TemplatePath []string
	Template     *corev1.PodTemplateSpec
	// ImagePath, CommandPath, and EnvPath are for the only container of kinds without a template.
	ImagePath, CommandPath, EnvPath []string
	// Image is the default image.
	Image string
	// DeploymentNamePath is the path of the Deployment's name. By default, the Deployment has the name of the object.
	DeploymentNamePath []string
	// NameLabel is the pod label with the name of the object.
	NameLabel string
	// HistoryLimit is the default of .spec.revisionHistoryLimit. nil means the default of the built-in kinds.
	HistoryLimit *int32
	Status       StatusPaths
}

// StatusPaths contains the paths of the status fields from the root. A field with an empty path is not written.
type StatusPaths struct {
	// Selector is the path of the label selector of the pods, as a string.
	Selector []string
	// Desired, Current, Updated, Ready, and Available are the paths of numbers of pods.
	Desired, Current, Updated, Ready, Available []string
	// PodNames is the path of the sorted list of pod names, which is never null.
	PodNames []string
	// ObservedGeneration and Conditions follow the API conventions.
	ObservedGeneration, Conditions []string
	// Empty contains an empty value for each required status field without a path, by field name.
	Empty map[string]any
}

func (at StatusPaths) paths() [][]string {
	return [][]string{at.Selector, at.Desired, at.Current, at.Updated, at.Ready, at.Available, at.PodNames, at.ObservedGeneration, at.Conditions}
}

// Reconciled reports whether "run-controller" reconciles the kind.
func (k Kind) Reconciled() bool { return k.Mapping.Strategy != "" }

// Source is the server's information about a custom kind.
type Source struct {
	Schema map[string]any // the OpenAPI schema, or nil if it is unknown
	// StatusServed means that the kind has the /status subresource. Usually, only a controller writes such a status.
	StatusServed bool
	// SpecPath, StatusPath, and SelectorPath are the paths that define /scale, or "" if they are unknown.
	SpecPath, StatusPath, SelectorPath string
	Annotations                        map[string]string
}

// SourceIn returns the source in a version of a CRD.
func SourceIn(crd *unstructured.Unstructured, version map[string]any) Source {
	source := Source{Schema: fieldpath.Object(version, "schema", "openAPIV3Schema"), Annotations: crd.GetAnnotations()}
	source.StatusServed = fieldpath.Object(version, "subresources", "status") != nil
	scale := fieldpath.Object(version, "subresources", "scale")
	source.SpecPath, _ = scale["specReplicasPath"].(string)
	source.StatusPath, _ = scale["statusReplicasPath"].(string)
	source.SelectorPath, _ = scale["labelSelectorPath"].(string)
	return source
}
