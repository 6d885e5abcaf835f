package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

// CRDResource returns the resource of CRDs.
func CRDResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}
