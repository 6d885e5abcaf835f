package feeds

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// ChildKinds returns the kinds that are always searched for children of an object of the given kind. Other
// kinds are searched if a controller reference names them.
func ChildKinds(kind kinds.Kind) []schema.GroupVersionKind {
	switch {
	case !kind.Reconciled() && !kind.BuiltIn():
		return PodMakers()
	case kind.CRD() == kinds.Deployments:
		return []schema.GroupVersionKind{replicaSet()}
	}
	return nil
}

// PodMakers returns the kinds of the API group apps through which other controllers create pods.
func PodMakers() []schema.GroupVersionKind {
	apps := appsv1.SchemeGroupVersion
	return []schema.GroupVersionKind{replicaSet(), apps.WithKind("StatefulSet"), apps.WithKind("DaemonSet"), apps.WithKind("Deployment")}
}

// ChildSelector returns a selector that matches all objects of the child kind that obj controls, or "" if there is
// none. A Deployment releases ReplicaSets that do not match its selector.
func ChildSelector(kind kinds.Kind, obj *unstructured.Unstructured, child schema.GroupVersionKind) string {
	if kind.CRD() == kinds.Deployments && child == replicaSet() {
		return kind.PodSelector(obj)
	}
	return ""
}

func replicaSet() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("ReplicaSet") }
