package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppService keeps one Deployment, under a name that it chooses, at a number of
// replicas.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=appservices,singular=appservice
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=deployment";"imoocpod.dev/deployment-name-path=.spec.deploymentName";"imoocpod.dev/image-path=.spec.image";"imoocpod.dev/image=nginx";"imoocpod.dev/name-label=app"
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, the group is that of a tutorial"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`,description="The name of the Deployment."
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many pods are wanted."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="How many pods there are."
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="How many of them are available."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="How long ago the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label app of its pods"
type AppService struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What is wanted.
	Spec AppServiceSpec `json:"spec"`
	// What there is, as the controller last saw it.
	// +optional
	Status AppServiceStatus `json:"status,omitempty"`
}

// AppServiceSpec says which Deployment is wanted.
type AppServiceSpec struct {
	// The name of the Deployment, in the namespace of this object. A Deployment
	// that exists and was made by somebody else is left alone. After a change of
	// the name the old Deployment is removed when the new one is available.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=242
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Deployment: lower case letters, digits, '-' and '.', with a letter or digit at the start, at the end and around each '.'"
	DeploymentName string `json:"deploymentName"`

	// How many pods are wanted. Zero is allowed: the Deployment stays, without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// The image of the container.
	// +kubebuilder:default=nginx
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +optional
	Image string `json:"image,omitempty"`
}

// AppServiceStatus is what the controller saw.
type AppServiceStatus struct {
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

// AppServiceList is a list of AppServices.
//
// +kubebuilder:object:root=true
type AppServiceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// The objects.
	Items []AppService `json:"items"`
}
