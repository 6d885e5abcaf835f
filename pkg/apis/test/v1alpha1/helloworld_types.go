package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelloWorld keeps an nginx Deployment, named like itself, at a number of
// replicas, and tells the names of its pods.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=helloworlds,singular=helloworld
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=deployment";"imoocpod.dev/image=nginx";"imoocpod.dev/name-label=hello_name";"imoocpod.dev/pod-names-path=.status.nodes"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.size`,description="How many pods are wanted."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="How many pods there are."
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="How many of them are available."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="How long ago the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label hello_name of its pods"
type HelloWorld struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What is wanted.
	// +kubebuilder:default={}
	// +optional
	Spec HelloWorldSpec `json:"spec,omitempty"`
	// What there is, as the controller last saw it.
	// +optional
	Status HelloWorldStatus `json:"status,omitempty"`
}

// HelloWorldSpec says how many pods are wanted.
type HelloWorldSpec struct {
	// How many pods are wanted. Zero is allowed: the Deployment stays, without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size *int32 `json:"size,omitempty"`
}

// HelloWorldStatus is what the controller saw.
type HelloWorldStatus struct {
	// The generation of the object that this status speaks of. Where it is
	// behind metadata.generation, the controller has not yet seen the last change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How many pods the Deployment has.
	// +optional
	Replicas int32 `json:"replicas"`

	// How many of the pods are available.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// The names of the pods, sorted.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes"`

	// The label selector of the pods, as text: for autoscalers and disruption
	// budgets, which read it through the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Ready: all pods that are wanted are there and available.
	// Progressing: the Deployment is being made or changed, or its pods are.
	// ReplicaFailure: the Deployment or a pod of it could not be made; the message
	// says why.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// HelloWorldList is a list of HelloWorlds.
//
// +kubebuilder:object:root=true
type HelloWorldList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// The objects.
	Items []HelloWorld `json:"items"`
}
