// Package v1alpha1 holds the Go types of ImoocPod, the replica resource of
// the tutorials. The CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=batch.tutorial.kubebuilder.io
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1"}
}
