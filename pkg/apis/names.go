// Package apis holds the labels, annotations, and conditions that all API types of this program
// share.
package apis

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Prefix begins the names of all labels and annotations of this program.
const Prefix = "imoocpod.dev/"

// The labels of an object's pods. They select the pods to watch and list. Only the controller
// reference decides which object owns a pod.
const (
	// LabelOwner holds the owner's UID.
	LabelOwner = "imoocpod.dev/owner-uid"
	// LabelSlot holds the slot that the pod fills.
	LabelSlot = "imoocpod.dev/slot"
	// LabelReplaces holds the UID of the stuck pod that the pod replaces.
	LabelReplaces = "imoocpod.dev/bypasses"
	// LabelTemplateHash holds the hash of the template that the pod was made from.
	LabelTemplateHash = "imoocpod.dev/template-hash"
	// LabelApp holds the owner's name, as in the tutorials.
	LabelApp = "app"
)

// AnnotationRestartedAt holds the time of a restart. It is on the pod template, as with "kubectl
// rollout restart", or on an object without a template.
const AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// AnnotationChangeCause holds the reason for the last change of an object's pod template, which
// "kubectl rollout history" shows. AnnotationChangedBy holds the user who made the change. Commands
// that change a template set both, and revisions have both.
const (
	AnnotationChangeCause = "kubernetes.io/change-cause"
	AnnotationChangedBy   = Prefix + "changed-by"
)

// The annotations of a pause: "pause" sets them, "resume" removes them, and ReadPause interprets
// them.
const (
	// AnnotationPausedUntil holds the end of the pause, as RFC 3339, or PausedForever.
	AnnotationPausedUntil = Prefix + "paused-until"
	// AnnotationPausedBy holds the user who paused the object. AnnotationPausedReason holds the
	// reason. For other controllers, "pause" sets both along with the field that pauses the object.
	AnnotationPausedBy     = Prefix + "paused-by"
	AnnotationPausedReason = Prefix + "paused-reason"
	// PausedForever is the end of a pause that lasts until someone resumes the object.
	PausedForever = "forever"
)

// AnnotationRemovedSlots lists the slots that an object has given up, such as "1,4". The object's
// pods are in the lowest other slots. "scale --remove" and "scale --reuse" write it.
const AnnotationRemovedSlots = Prefix + "removed-slots"

// AnnotationParked holds a ParkedCount, as JSON: the count to restore to an object that is scaled
// to zero for a time, and who scaled it.
const AnnotationParked = Prefix + "parked"

// AnnotationFailedRevision holds the number of the revision that a command last reverted because
// its pods never became ready.
const AnnotationFailedRevision = Prefix + "failed-revision"

// AnnotationLastScale holds, as JSON, how "scale" last changed the count, for "scale --undo".
const AnnotationLastScale = Prefix + "last-scale"

// AnnotationDefaultContainer holds the name of the container whose log kubectl shows by default.
const AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"

// The condition types of all kinds that this project ships.
const (
	// ConditionReady is true when all wanted pods are ready and up to date, and none is surplus.
	ConditionReady = "Ready"
	// ConditionProgressing is true while pods are created, replaced, or removed.
	ConditionProgressing = "Progressing"
	// ConditionReplicaFailure is true when a pod cannot be created.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionPaused is true while the controller writes nothing but the status, because
	// someone paused the object. An object that was never paused does not have it.
	ConditionPaused = "Paused"
)

// LabelController marks the lease of a running loop; its value is RunController. Loops are found by
// this label.
const (
	LabelController = "imoocpod.dev/controller"
	RunController   = "run-controller"
)

// The annotations of such a lease describe its holder and what that loop reconciles.
const (
	// AnnotationUser holds the user's name on the host, AnnotationHost holds the name of the host,
	// and AnnotationPID holds the ID of the process on that host.
	AnnotationUser = "imoocpod.dev/user"
	AnnotationHost = "imoocpod.dev/host"
	AnnotationPID  = "imoocpod.dev/pid"
	// AnnotationMachine identifies one boot of a machine and a PID namespace on it. Unlike the host
	// name, it is unique. It is empty if unknown.
	AnnotationMachine = "imoocpod.dev/machine"
	// AnnotationVersion is the version of the program.
	AnnotationVersion = "imoocpod.dev/version"
	// AnnotationNamespace holds the namespace that the loop reconciles, or "" for all.
	// AnnotationKinds lists the kinds as plural.group, separated by commas. An empty list means all
	// shipped kinds, and "*" also includes the kinds that CRDs declare. AnnotationSelector holds
	// the selector of the objects, or "" for all.
	AnnotationNamespace = "imoocpod.dev/namespace"
	AnnotationKinds     = "imoocpod.dev/kinds"
	AnnotationSelector  = "imoocpod.dev/selector"
)

// LeaseNamespaceForAll is the namespace with the lease of a loop that reconciles all namespaces. It
// is on every cluster, and only users with the permissions of such a loop can take a lease there.
const LeaseNamespaceForAll = metav1.NamespaceSystem

// MaxNameLength is the maximum length of the name of an object, because the name is the value of a
// label of its pods. Each CRD has a rule that requires this.
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

// CheckLength rejects a name that is too long for a new object of a shipped kind. Existing objects may
// have longer names, which an older CRD may have allowed.
func CheckLength(name string) error {
	if len(name) > MaxNameLength {
		return fmt.Errorf("invalid name %q: it must be no longer than %d characters", name, MaxNameLength)
	}
	return nil
}
