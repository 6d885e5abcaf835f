package kinds

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// RevisionPaths are the fields that the pods of a reconciled kind are made from, and
// that a revision keeps: the pod template, or the image, command, and environment of
// a kind without one, and the annotation that "restart" sets there.
func (k Kind) RevisionPaths() [][]string {
	if path := k.Mapping.TemplatePath; len(path) > 0 {
		return [][]string{path}
	}
	var paths [][]string
	for _, path := range [][]string{k.Mapping.ImagePath, k.Mapping.CommandPath, k.Mapping.EnvPath} {
		if len(path) > 0 {
			paths = append(paths, path)
		}
	}
	return append(paths, []string{"metadata", "annotations", apis.AnnotationRestartedAt})
}

// RevisionData is what a revision of an object keeps: the fields of RevisionPaths
// that the object has, unchanged and at their paths.
func RevisionData(kind Kind, obj *unstructured.Unstructured) (map[string]any, error) {
	data := map[string]any{}
	for _, path := range kind.RevisionPaths() {
		value, found, err := unstructured.NestedFieldCopy(obj.Object, path...)
		if err != nil {
			return nil, fmt.Errorf("read .%s of %s: %w", strings.Join(path, "."), obj.GetName(), err)
		}
		if !found {
			continue
		}
		if err := unstructured.SetNestedField(data, value, path...); err != nil {
			return nil, fmt.Errorf("keep .%s of %s: %w", strings.Join(path, "."), obj.GetName(), err)
		}
	}
	return data, nil
}

// defaultHistoryLimit is that of the built-in kinds.
const defaultHistoryLimit = 10

// RevisionHistoryLimit is how many revisions of an object are kept that it has no pods of
// any more: its own .spec.revisionHistoryLimit, what its CRD declares, or 10. What is
// no number of revisions stands for nothing: a schema need not forbid it.
func RevisionHistoryLimit(kind Kind, obj *unstructured.Unstructured) int {
	if n, found, err := unstructured.NestedInt64(obj.Object, "spec", "revisionHistoryLimit"); found && err == nil && n >= 0 && n <= math.MaxInt32 {
		return int(n)
	}
	if limit := kind.Mapping.HistoryLimit; limit != nil {
		return int(*limit)
	}
	return defaultHistoryLimit
}
