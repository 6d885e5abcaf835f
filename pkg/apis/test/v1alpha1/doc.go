// Package v1alpha1 holds the Go types of HelloWorld, an nginx Deployment whose pod names
// are in the status. The CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=test.jiaozi.com
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "test.jiaozi.com", Version: "v1alpha1"}
}
