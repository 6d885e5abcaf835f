// Package v1beta1 holds the Go types of MyDaemonSet, one pod on every node. The
// CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=apps.zhongmingmao.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "apps.zhongmingmao.io", Version: "v1beta1"}
}

// A rule of the whole object requires the image, because a required field is not checked if the whole
// spec is absent.

// MyDaemonSet keeps one pod on each node that may run it, as nodes come and go.
//
// +kubebuilder:resource:path=mydaemonsets,singular=mydaemonset
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=nodes";"imoocpod.dev/image-path=.spec.image";"imoocpod.dev/name-label=app";"imoocpod.dev/available-path=.status.availableReplicas"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desiredNumberScheduled`,description="Number of nodes that should run the pod."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentNumberScheduled`,description="Number of these nodes that have a pod."
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedNumberScheduled`,description="Number of these nodes that have a pod of the current spec."
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Number of nodes whose pod is ready."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created."
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`,priority=1,description="Image of the container."
// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.image) && self.spec.image.trim().size() > 0",message="image is required",reason="FieldValueRequired",fieldPath=".spec.image"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label app of its pods"
type MyDaemonSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Specification of the desired state.
	// +optional
	Spec MyDaemonSetSpec `json:"spec,omitempty"`
	// Most recently observed state. The controller writes it.
	// +optional
	Status MyDaemonSetStatus `json:"status,omitempty"`
}

// MyDaemonSetSpec is the specification of a MyDaemonSet.
type MyDaemonSetSpec struct {
	// Image of the container. Required. If it changes, the controller replaces the pods,
	// a quarter of them at a time.
	// +optional
	Image string `json:"image,omitempty"`
}

// MyDaemonSetStatus is the observed state of a MyDaemonSet.
type MyDaemonSetStatus struct {
	// Generation of the object that this status describes. If it is lower than
	// metadata.generation, the controller has not yet seen the last change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of nodes that should run the pod.
	// +optional
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`

	// Number of these nodes that have a pod.
	// +optional
	CurrentNumberScheduled int32 `json:"currentNumberScheduled"`

	// Number of these nodes that have a pod of the current spec.
	// +optional
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`

	// Number of nodes whose pod is ready.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// Ready: every node that should run the pod has one that is ready.
	// Progressing: pods are being created, replaced, or removed.
	// ReplicaFailure: a pod could not be created. The message says why.
	// Paused: someone paused the object. The message says until when.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
