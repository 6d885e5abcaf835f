// Package v1alpha1 contains the Go types of the kind ImoocPod. "make generate" generates the CRD in
// deploy/crds from these types.
//
// +groupName=batch.tutorial.kubebuilder.io
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImoocPod keeps a number of identical pods running. Each pod has a slot, usually
// a number from 0 to replicas-1. When the count goes down, the pods in the highest
// slots are deleted first. The annotation imoocpod.dev/removed-slots lists slots that
// stay empty; pods use the next higher slots.
//
// +kubebuilder:resource:path=imoocpods,singular=imoocpod,shortName=imp
// +kubebuilder:metadata:annotations="imoocpod.dev/plan=pods";"imoocpod.dev/template-path=.spec.template";"imoocpod.dev/name-label=app"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`,description="Desired number of pods."
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,description="Current number of pods."
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Number of ready pods."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the object was created."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="name must be no longer than 63 characters, as it is the value of the label app of its pods"
type ImoocPod struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be no longer than 63 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Specification of the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec ImoocPodSpec `json:"spec,omitempty"`
	// Most recently observed state. The controller writes it.
	// +optional
	Status ImoocPodStatus `json:"status,omitempty"`
}

// ImoocPodSpec is the specification of an ImoocPod.
//
// +kubebuilder:validation:XValidation:rule="!has(self.template) || has(self.template.spec) && size(self.template.spec.containers) > 0",message="a pod template needs a spec with at least one container",fieldPath=".template.spec",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy == 'Always'",message="only the restart policy Always is supported: a pod that ends is replaced",fieldPath=".template.spec.restartPolicy",reason="FieldValueInvalid"
type ImoocPodSpec struct {
	// Desired number of pods. With 0, the object remains without pods.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Template of the pods. The default is a pod that sleeps: image busybox,
	// command "sleep 3600", user nobody, without capabilities and without a service
	// account token. If the template changes, the controller replaces the pods, a
	// quarter of them at a time.
	// +kubebuilder:default={spec: {restartPolicy: Always, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}, containers: {{name: busybox, image: busybox, command: {sleep, "3600"}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: {ALL}}}}}}}
	// +optional
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`

	// Number of old templates to keep in the history, as ControllerRevisions, in
	// addition to the templates of existing pods. The default is 10.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// ImoocPodStatus is the observed state of an ImoocPod.
type ImoocPodStatus struct {
	// Generation of the object that this status describes. If it is lower than
	// metadata.generation, the controller has not yet seen the last change.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of pods, except terminating and finished pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// Number of pods that were created from the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// Number of ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Label selector of the pods as a string. Autoscalers and disruption budgets
	// read it through the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Ready: all desired pods exist, are up to date, and are ready.
	// Progressing: pods are being created, replaced, or removed, or become ready.
	// ReplicaFailure: a pod could not be created. The message says why.
	// Paused: someone paused the object. The message says until when.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// DefaultTemplate returns the pod template for an ImoocPod that specifies none. The CRD contains the same default, so
// that the server sets it even if no controller is running. A test compares the two.
func DefaultTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(65534)), // nobody, who owns no files in common images
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:    "busybox",
				Image:   "busybox",
				Command: []string{"sleep", "3600"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
