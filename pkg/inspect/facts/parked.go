package facts

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// ParkedPath returns the path of the parked count, or nil if no valid annotation records one.
func ParkedPath(obj *unstructured.Unstructured) *fieldpath.Path {
	if obj == nil {
		return nil
	}
	p, err := apis.ReadParked(obj.GetAnnotations())
	if err != nil || p == nil {
		return nil
	}
	path, err := fieldpath.ParsePath(p.Path)
	if err != nil {
		return nil
	}
	return &path
}

// parked returns the count that an object had before it was parked. It returns nil if the object is not
// parked, or was scaled afterwards.
func parked(obj *unstructured.Unstructured) *apis.ParkedCount {
	path := ParkedPath(obj)
	if path == nil {
		return nil
	}
	if n, found, err := path.Get(obj.Object); err != nil || !found || n != 0 {
		return nil
	}
	p, _ := apis.ReadParked(obj.GetAnnotations()) // ParkedPath has checked the annotation
	return p
}
