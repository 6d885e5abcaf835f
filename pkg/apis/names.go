// Package apis contains the API groups, labels, annotations, and conditions of this program.
package apis

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Prefix is the prefix of this program's labels and annotations.
const Prefix = "imoocpod.dev/"

// The API groups of the shipped kinds.
const (
	GroupImoocPod    = "batch.tutorial.kubebuilder.io"
	GroupAppService  = "appcontroller.k8s.io"
	GroupHelloWorld  = "test.jiaozi.com"
	GroupMyDaemonSet = "apps.zhongmingmao.io"
)

// The labels of pods. Users, Services, and commands select pods by these labels. The controller does not: it reads all
// pods, and only the controller reference determines the owner of a pod.
const (
	LabelOwner        = "imoocpod.dev/owner-uid"     // the UID of the owner
	LabelSlot         = "imoocpod.dev/slot"          // the slot of the pod (see package slots)
	LabelReplaces     = "imoocpod.dev/bypasses"      // the UID of the stuck pod that this pod replaces
	LabelTemplateHash = "imoocpod.dev/template-hash" // the hash of the pod template from which the pod was created
	LabelApp          = "app"                        // the name of the owner, as in operator tutorials
)

// AnnotationRestartedAt is the time of the last restart. It is set on the pod template, as by "kubectl
// rollout restart", or on the object if there is no pod template.
const AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// AnnotationChangeCause is the reason for the last change of a pod template, as in "kubectl rollout history".
// AnnotationChangedBy is the user who made the change, if known. Controllers copy both annotations to revisions.
const (
	AnnotationChangeCause = "kubernetes.io/change-cause"
	AnnotationChangedBy   = Prefix + "changed-by"
)

// The annotations of a pause. "pause" sets them, "resume" removes them, and ReadPause interprets them.
const (
	// AnnotationPausedUntil is the end of the pause in RFC 3339 format, or PausedForever.
	AnnotationPausedUntil = Prefix + "paused-until"
	// AnnotationPausedBy is the user who paused the object, and AnnotationPausedReason is the reason. If another
	// controller reconciles the object, "pause" sets both in addition to the field that pauses the object.
	AnnotationPausedBy     = Prefix + "paused-by"
	AnnotationPausedReason = Prefix + "paused-reason"
	// PausedForever is the end of a pause that lasts until a user resumes the object.
	PausedForever = "forever"
)

// AnnotationRemovedSlots lists the removed slots of an object, such as "1,4". The pods are in the lowest
// slots that are not removed. "scale --remove" and "scale --reuse" write this annotation.
const AnnotationRemovedSlots = Prefix + "removed-slots"

// AnnotationParked is a ParkedCount in JSON. Only parked objects have this annotation.
const AnnotationParked = Prefix + "parked"

// AnnotationFailedRevision is the number of the last revision that was reverted because its pods did not become ready.
const AnnotationFailedRevision = Prefix + "failed-revision"

// AnnotationLastScale describes the last change of the replica count by "scale", in JSON. "scale --undo" reads it.
const AnnotationLastScale = Prefix + "last-scale"

// AnnotationDefaultContainer is the name of the container whose log kubectl shows by default.
const AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"

// The condition types of all shipped kinds.
const (
	// ConditionReady is true if all desired pods are ready and up to date, and there are no surplus pods.
	ConditionReady = "Ready"
	// ConditionProgressing is true while pods are created, become ready, or are replaced or removed.
	ConditionProgressing = "Progressing"
	// ConditionReplicaFailure is true if a pod or a Deployment cannot be created.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionPaused is true while an object is paused. During a pause, the controller writes only the
	// status. An object that never had the annotations of a pause does not have this condition.
	ConditionPaused = "Paused"
)

// LabelController marks the lease of a controller, so that other commands find it. The label's value is RunController.
const (
	LabelController = "imoocpod.dev/controller"
	RunController   = "run-controller"
)

// The annotations of a controller's lease describe the holder and the objects that the controller reconciles.
const (
	// AnnotationUser and AnnotationHost are the names of the user and the host. AnnotationPID is the ID of the process.
	AnnotationUser = "imoocpod.dev/user"
	AnnotationHost = "imoocpod.dev/host"
	AnnotationPID  = "imoocpod.dev/pid"
	// AnnotationMachine identifies a boot of a machine and a PID namespace on it. Unlike a host name, it is
	// unique. It is "" if the machine is unknown.
	AnnotationMachine = "imoocpod.dev/machine"
	// AnnotationVersion is the version of the program.
	AnnotationVersion = "imoocpod.dev/version"
	// AnnotationNamespace is the namespace that the controller reconciles, or "" for all. AnnotationKinds lists the
	// kinds as plural.group, separated by commas. An empty list means all shipped kinds, and "*" also includes the
	// kinds that CRDs declare. AnnotationSelector is the selector of the objects, or "" for all.
	AnnotationNamespace = "imoocpod.dev/namespace"
	AnnotationKinds     = "imoocpod.dev/kinds"
	AnnotationSelector  = "imoocpod.dev/selector"
)

// LeaseNamespaceForAll is the namespace for the lease of a controller that reconciles all namespaces. It
// exists in every cluster, and users without special permissions cannot write leases in it.
const LeaseNamespaceForAll = metav1.NamespaceSystem

// MaxNameLength is the maximum length of an object's name, which its pods have as a label. The shipped CRDs enforce it.
const MaxNameLength = 63

// NameProblem returns the problem with the name of an object, or "" if the name is valid.
func NameProblem(name string) string {
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return "it is empty"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("it must be no longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case len(problems) > 0:
		return "only lowercase letters, digits, '-', and '.' are allowed, with a letter or digit at the start, at the end, and around each '.'"
	}
	return ""
}

// CheckLength rejects names that are too long for new objects of shipped kinds. Older CRDs allowed longer names.
func CheckLength(name string) error {
	if len(name) > MaxNameLength {
		return fmt.Errorf("invalid name %q: it must be no longer than %d characters", name, MaxNameLength)
	}
	return nil
}
