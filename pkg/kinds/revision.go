package kinds

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// RevisionPaths returns the paths of the fields in a revision of a reconciled kind. These are the pod
// template or, without a template, the image, command, environment, and restart annotation.
func (k Kind) RevisionPaths() [][]string {
	if path := k.Mapping.TemplatePath; len(path) > 0 {
		return [][]string{path}
	}
	paths := [][]string{k.Mapping.ImagePath, k.Mapping.CommandPath, k.Mapping.EnvPath}
	paths = slices.DeleteFunc(paths, func(path []string) bool { return len(path) == 0 })
	return append(paths, []string{"metadata", "annotations", apis.AnnotationRestartedAt})
}

// RevisionData returns a copy of an object with only the fields at RevisionPaths. It panics if a path is invalid in the
// object, so callers must first call TemplateFields, which returns an error for such a path.
func RevisionData(kind Kind, obj *unstructured.Unstructured) map[string]any {
	data := map[string]any{}
	for _, path := range kind.RevisionPaths() {
		value, found, err := unstructured.NestedFieldCopy(obj.Object, path...)
		utilruntime.Must(err)
		if found {
			utilruntime.Must(unstructured.SetNestedField(data, value, path...))
		}
	}
	return data
}

// RevisionHistoryLimit returns how many revisions without pods to keep for an object: .spec.revisionHistoryLimit, the
// annotation of the CRD, or 10, in this order. It ignores invalid values, which a schema may allow.
func RevisionHistoryLimit(kind Kind, obj *unstructured.Unstructured) int {
	if n, found, err := unstructured.NestedInt64(obj.Object, "spec", "revisionHistoryLimit"); found && err == nil && n >= 0 && n <= math.MaxInt32 {
		return int(n)
	}
	if limit := kind.Mapping.HistoryLimit; limit != nil {
		return int(*limit)
	}
	return 10 // the default of Deployments and other built-in workloads
}
