package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

// CRDResource is the resource type of CRDs themselves.
func CRDResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}
