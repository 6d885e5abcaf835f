// Package v1beta1 holds the Go types of MyDaemonSet, one pod on every node. The
// CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=apps.zhongmingmao.io
package v1beta1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "apps.zhongmingmao.io", Version: "v1beta1"}
}
