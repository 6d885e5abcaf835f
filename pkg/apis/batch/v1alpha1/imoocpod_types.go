package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImoocPod keeps a number of identical pods running. Each pod fills a slot,
// a number from 0 to replicas-1; when the count goes down, the highest slots
// are emptied first.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=imoocpods,singular=imoocpod,shortName=imp
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=pods";"imoocpod.dev/template-path=.spec.template";"imoocpod.dev/name-label=app"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="How many pods are wanted."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="How many pods there are."
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many of them are ready."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="How long ago the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label app of its pods"
type ImoocPod struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// What is wanted.
	// +kubebuilder:default={}
	// +optional
	Spec ImoocPodSpec `json:"spec,omitempty"`
	// What there is, as the controller last saw it.
	// +optional
	Status ImoocPodStatus `json:"status,omitempty"`
}

// ImoocPodSpec says how many pods of which form are wanted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.template) || has(self.template.spec) && size(self.template.spec.containers) > 0",message="a pod template needs a spec with at least one container",fieldPath=".template.spec",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Always'",message="only the restart policy Always is supported: a pod that ends is replaced",fieldPath=".template.spec.restartPolicy",reason="FieldValueInvalid"
type ImoocPodSpec struct {
	// How many pods are wanted. Zero is allowed: the object stays, without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// The pod that each replica is made from. Where it is absent, a pod that
	// sleeps is used: image busybox, command "sleep 3600", as the user nobody,
	// with no capabilities and no service account token. After a change the pods
	// are replaced, a quarter of them at a time.
	// +kubebuilder:default={spec: {restartPolicy: Always, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}, containers: {{name: busybox, image: busybox, command: {sleep, "3600"}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: {ALL}}}}}}}
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

// ImoocPodStatus is what the controller saw.
type ImoocPodStatus struct {
	// The generation of the object that this status speaks of. Where it is
	// behind metadata.generation, the controller has not yet seen the last change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How many pods there are, those that are ending or have ended left out.
	// +optional
	Replicas int32 `json:"replicas"`

	// How many of the pods are made from the present template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// How many of the pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// The label selector of the pods, as text: for autoscalers and disruption
	// budgets, which read it through the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Ready: all pods that are wanted are there and ready.
	// Progressing: pods are being made, replaced or removed.
	// ReplicaFailure: a pod could not be made; the message says why.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// ImoocPodList is a list of ImoocPods.
//
// +kubebuilder:object:root=true
type ImoocPodList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// The objects.
	Items []ImoocPod `json:"items"`
}
