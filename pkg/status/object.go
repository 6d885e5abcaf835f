package status

import (
	"slices"
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

	// Foreign says that another program's controller reconciles the kind,
	// Untracked that it does not say which generation it saw, Uncounted that it
	// does not say how many pods are ready, NoCount that nothing says how many are
	// wanted.
	Foreign, Untracked, Uncounted, NoCount bool

	// Between gives the controllers of the objects that stand between this one
	// and its pods, such as ReplicaSets and Jobs.
	Between map[types.UID]types.UID
	// Names gives their kinds and names, such as "ReplicaSet/web-7887448d46".
	Names map[types.UID]string
}

// deepest is how many objects may stand between an object and its pods. Only a
// ring of controller references, which the server lets nobody make, has more.
const deepest = 8

// Owns says whether a pod's controller references lead to the object.
func (o Object) Owns(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false
	}
	at := ref.UID
	for range deepest {
		if at == o.UID || at == "" {
			break
		}
		at = o.Between[at]
	}
	return at == o.UID
}

// through names what stands between the object and one of its pods, from above.
func (o Object) through(pod *corev1.Pod) []string {
	var names []string
	ref := metav1.GetControllerOfNoCopy(pod)
	for at := ref.UID; at != o.UID && at != "" && len(names) < deepest; at = o.Between[at] {
		names = append(names, o.Names[at])
	}
	slices.Reverse(names)
	return names
}

// counted takes the counts of pods that the object's status does not tell from
// the pods themselves.
func (o Object) counted(pods []corev1.Pod) Object {
	if !o.Uncounted {
		return o.wanted()
	}
	o.Current, o.Ready = 0, 0
	for i := range pods {
		if pod := newPod(&pods[i]); o.Owns(&pods[i]) && pods[i].DeletionTimestamp == nil {
			o.Current++
			if pod.Ready {
				o.Ready++
			}
		}
	}
	return o.wanted()
}

// wanted takes, where nothing says how many pods are wanted, those that are
// there.
func (o Object) wanted() Object {
	if o.NoCount {
		o.Desired = o.Current
	}
	return o
}
