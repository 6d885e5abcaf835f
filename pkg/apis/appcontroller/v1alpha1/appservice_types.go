// Package v1alpha1 holds the Go types of AppService, a Deployment under a name
// of its own. The CRD in deploy/crds is generated from them ("make generate").
//
// +groupName=appcontroller.k8s.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the API group and version of the types in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "appcontroller.k8s.io", Version: "v1alpha1"}
}

// AppService keeps one Deployment, whose name it specifies, at a number of replicas.
//
// +kubebuilder:resource:path=appservices,singular=appservice
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=deployment";"imoocpod.dev/deployment-name-path=.spec.deploymentName";"imoocpod.dev/image-path=.spec.image";"imoocpod.dev/image=nginx";"imoocpod.dev/name-label=app"
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, the group is that of a tutorial"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`,description="Name of the Deployment."
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Desired number of pods."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="Current number of pods."
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Number of available pods."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label app of its pods"
type AppService struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Specification of the desired state.
	Spec AppServiceSpec `json:"spec"`
	// Most recently observed state. The controller writes it.
	// +optional
	Status AppServiceStatus `json:"status,omitempty"`
}

// AppServiceSpec is the specification of an AppService.
type AppServiceSpec struct {
	// Name of the Deployment, in the namespace of this object. The controller does not
	// change a Deployment of someone else. If the name changes, the old Deployment is
	// deleted when the new one is available.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=242
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Deployment: lowercase letters, digits, '-', and '.', with a letter or digit at the start, at the end, and around each '.'"
	DeploymentName string `json:"deploymentName"`

	// Desired number of pods. With 0, the Deployment remains without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Image of the container.
	// +kubebuilder:default=nginx
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +optional
	Image string `json:"image,omitempty"`
}

// AppServiceStatus is the observed state of an AppService.
type AppServiceStatus struct {
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
