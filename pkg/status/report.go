package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ReportVersion is the apiVersion of a Report in JSON and YAML.
const ReportVersion = "imoocpod.dev/v1alpha1"

// Report is the model of one object that everything prints.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata names the object that the report is about.
	Metadata Metadata `json:"metadata"`
	// Verdict, Reason and Hint are what Judge says.
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Hint    string  `json:"hint,omitempty"`
	// Replicas are the counts of the object's status.
	Replicas Replicas `json:"replicas"`
	// Conditions are those of the object.
	Conditions []metav1.Condition `json:"conditions"`
	// Pods are those whose controller is the object, in the order of their slots.
	Pods []Pod `json:"pods"`
}

// Metadata names an object.
type Metadata struct {
	Type               string      `json:"type"`
	Namespace          string      `json:"namespace"`
	Name               string      `json:"name"`
	UID                types.UID   `json:"uid"`
	Generation         int64       `json:"generation"`
	ObservedGeneration int64       `json:"observedGeneration"`
	CreationTimestamp  metav1.Time `json:"creationTimestamp"`
}

// Replicas are an object's counts of pods.
type Replicas struct {
	Desired int32 `json:"desired"`
	Current int32 `json:"current"`
	Ready   int32 `json:"ready"`
}

// Pod is one pod of an object.
type Pod struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Phase is the pod's phase, Status the word that kubectl shows for it.
	Phase  corev1.PodPhase `json:"phase"`
	Status string          `json:"status"`
	Ready  bool            `json:"ready"`
	// ReadyContainers of Containers are ready.
	ReadyContainers int       `json:"readyContainers"`
	Containers      int       `json:"containers"`
	Restarts        int32     `json:"restarts"`
	Node            string    `json:"node,omitempty"`
	Created         time.Time `json:"created"`
	// Through names what stands between the object and the pod, from above: a
	// Deployment's ReplicaSet. Empty where the object controls the pod itself.
	Through []string `json:"through,omitempty"`
	// Reason says why the pod is not ready, where the pod itself tells.
	Reason string `json:"reason,omitempty"`
}

// NewReport makes the model of an object from those of the pods that it owns.
func NewReport(o Object, pods []corev1.Pod) Report {
	o = o.counted(pods)
	r := Report{
		TypeMeta: metav1.TypeMeta{APIVersion: ReportVersion, Kind: "StatusReport"},
		Metadata: Metadata{
			Type: o.Type, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
			Generation: o.Generation, ObservedGeneration: o.ObservedGeneration,
			CreationTimestamp: metav1.NewTime(o.Created),
		},
		Replicas:   Replicas{Desired: o.Desired, Current: o.Current, Ready: o.Ready},
		Conditions: o.Conditions,
		Pods:       []Pod{},
	}
	if r.Conditions == nil {
		r.Conditions = []metav1.Condition{}
	}
	r.Verdict, r.Reason, r.Hint = Judge(o)
	for i := range pods {
		if o.Owns(&pods[i]) {
			pod := newPod(&pods[i])
			pod.Through = o.through(&pods[i])
			r.Pods = append(r.Pods, pod)
		}
	}
	// Names differ in the slot at their end: the shorter number comes first.
	slices.SortFunc(r.Pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return r
}

// Gone is the report of the same object after it was deleted.
func (r Report) Gone() Report {
	r.Verdict, r.Reason, r.Hint = Deleted, "it was deleted", ""
	return r
}
