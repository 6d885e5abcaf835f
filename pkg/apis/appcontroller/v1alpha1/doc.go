// Package v1alpha1 holds the Go types of AppService, a Deployment under a name
// of its own. The CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=appcontroller.k8s.io
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "appcontroller.k8s.io", Version: "v1alpha1"}
}
