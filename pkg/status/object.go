package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what a verdict reads of a replica resource.
type Object struct {
	// Type is the singular with its group, as kubectl prints it; Resource is the
	// plural with its group. APIVersion and Kind are those of its manifest.
	Type, Resource   string
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	Labels           map[string]string
	Created          time.Time
	// Controller refers to the object that controls this one, if one does.
	Controller *metav1.OwnerReference
	// Managers are those who wrote its fields.
	Managers []metav1.ManagedFieldsEntry
	// Deleted is when the object was told to go; zero where it was not.
	Deleted    time.Time
	Finalizers []string

	Generation, ObservedGeneration int64
	Desired, Current, Ready        int32
	// Updated is how many pods are made from the newest template; nil where the
	// status does not tell.
	Updated    *int32
	Conditions []metav1.Condition

	// Foreign says that another program's controller reconciles the kind,
	// Untracked that it does not say which generation it saw, Uncounted that it
	// does not say how many pods are ready, NoCount that nothing says how many are
	// wanted.
	Foreign, Untracked, Uncounted, NoCount bool
	// Conditioned says that the kind's controller writes conditions, by the
	// schema: where there are none, it has not seen the object.
	Conditioned bool
}

// counted takes the counts of pods that the object's status does not tell from
// the pods themselves.
func (o Object) counted(pods []*corev1.Pod) Object {
	if o.Uncounted {
		o.Current, o.Ready = 0, 0
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				continue
			}
			o.Current++
			if newPod(pod).Ready {
				o.Ready++
			}
		}
	}
	if o.NoCount {
		// Where nothing says how many are wanted, it is those that are there.
		o.Desired = o.Current
	}
	return o
}
