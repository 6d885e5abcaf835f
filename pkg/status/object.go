package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what a verdict reads of a replica resource.
type Object struct {
	// Type is the singular with its group, as kubectl prints it.
	Type            string
	Namespace, Name string
	UID             types.UID
	Created         time.Time
	Deleting        bool

	Generation, ObservedGeneration int64
	Desired, Current, Ready        int32
	Conditions                     []metav1.Condition
}

// Owns says whether a pod's controller reference names the object.
func (o Object) Owns(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.UID == o.UID
}
