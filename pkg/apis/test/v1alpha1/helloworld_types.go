// Package v1alpha1 holds the Go types of HelloWorld, an nginx Deployment whose pod names
// are in the status. The CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=test.jiaozi.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "test.jiaozi.com", Version: "v1alpha1"}
}

// HelloWorld keeps an nginx Deployment of the same name at a number of replicas, and
// lists the names of its pods.
//
// +kubebuilder:resource:path=helloworlds,singular=helloworld
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=deployment";"imoocpod.dev/image=nginx";"imoocpod.dev/name-label=hello_name";"imoocpod.dev/pod-names-path=.status.nodes"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.size`,description="Desired number of pods."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="Current number of pods."
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Number of available pods."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label hello_name of its pods"
type HelloWorld struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Specification of the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec HelloWorldSpec `json:"spec,omitempty"`
	// Most recently observed state. The controller writes it.
	// +optional
	Status HelloWorldStatus `json:"status,omitempty"`
}

// HelloWorldSpec is the specification of a HelloWorld.
type HelloWorldSpec struct {
	// Desired number of pods. With 0, the Deployment remains without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size *int32 `json:"size,omitempty"`
}

// HelloWorldStatus is the observed state of a HelloWorld.
type HelloWorldStatus struct {
	// Generation of the object that this status describes. If it is lower than
	// metadata.generation, the controller has not yet seen the last change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of pods of the Deployment.
	// +optional
	Replicas int32 `json:"replicas"`

	// Number of available pods.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// Names of the pods, sorted.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes"`

	// Label selector of the pods as a string. Autoscalers and disruption budgets
	// read it through the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Ready: all desired pods exist and are available.
	// Progressing: the Deployment or its pods are being created or changed.
	// ReplicaFailure: the Deployment or one of its pods could not be created. The
	// message says why.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
