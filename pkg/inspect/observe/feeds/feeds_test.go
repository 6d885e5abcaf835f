package feeds

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// controllerOf returns the reference to the controller of an object, and ignores other owners.
func TestControllerOf(t *testing.T) {
	t.Parallel()
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", UID: "set", Controller: new(true)}
	for _, test := range []struct {
		owners []metav1.OwnerReference
		want   follow.Reference
	}{
		{nil, follow.Reference{}},
		{[]metav1.OwnerReference{{UID: "other"}}, follow.Reference{}},
		{[]metav1.OwnerReference{{UID: "other"}, set}, follow.Reference{UID: "set", Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet")}},
	} {
		if got := controllerOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: test.owners}}); got != test.want {
			t.Errorf("controllerOf a pod with owners %v = %v, want %v", test.owners, got, test.want)
		}
	}
}
