package facts

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Parked returns the count in the annotation of a parked object, and the path of the replica field. Both
// results are nil if the object is not parked. If the annotation is invalid, Parked returns an error.
func Parked(obj *unstructured.Unstructured) (*apis.ParkedCount, *fieldpath.Path, error) {
	text, found := obj.GetAnnotations()[apis.AnnotationParked]
	if !found {
		return nil, nil, nil
	}
	var p apis.ParkedCount
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, nil, fmt.Errorf("the annotation %s is invalid: %w", apis.AnnotationParked, err)
	}
	if p.Replicas < 1 || p.Path == "" {
		return nil, nil, errors.New("the annotation " + apis.AnnotationParked + " is invalid: it needs a positive number of replicas and a path")
	}
	path, err := fieldpath.ParsePath(p.Path)
	if err != nil {
		return nil, nil, err
	}
	return &p, &path, nil
}

// parked returns the count that an object had before it was parked. It returns nil if the object is not
// parked, if the annotation is invalid, or if the replica field is no longer zero.
func parked(obj *unstructured.Unstructured) *apis.ParkedCount {
	p, path, err := Parked(obj)
	if p == nil || err != nil {
		return nil
	}
	if n, found, err := path.Get(obj.Object); err != nil || !found || n != 0 {
		return nil
	}
	return p
}
