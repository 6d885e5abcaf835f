// Package apis holds the labels, annotations, and conditions that all API types of this program
// share.
package apis

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Prefix begins the names of all labels and annotations of this program.
const Prefix = "imoocpod.dev/"

// The labels that the pods of an object carry beside their controller reference. They
// select what is watched and listed; ownership is the reference alone.
const (
	// LabelOwner holds the owner's UID.
	LabelOwner = "imoocpod.dev/owner-uid"
	// LabelSlot holds the slot that the pod fills.
	LabelSlot = "imoocpod.dev/slot"
	// LabelReplaces holds the UID of the stuck pod that the pod replaces.
	LabelReplaces = "imoocpod.dev/bypasses"
	// LabelTemplateHash is the hash of the template that the pod was made from.
	LabelTemplateHash = "imoocpod.dev/template-hash"
	// LabelApp holds the owner's name, as in the tutorials.
	LabelApp = "app"
)

// AnnotationRestartedAt holds when a restart was asked for: on the pod template,
// as "kubectl rollout restart" does it, or on the object where there is none.
const AnnotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// AnnotationChangeCause is the reason of the last change of an object's pod template, and
// AnnotationChangedBy the user who made it. "kubectl rollout history" reads AnnotationChangeCause.
// Verbs that change a template set both, and revisions carry both.
const (
	AnnotationChangeCause = "kubernetes.io/change-cause"
	AnnotationChangedBy   = Prefix + "changed-by"
)

// The annotations of a pause: "pause" sets them, "resume" removes them, and ReadPause interprets
// them.
const (
	// AnnotationPausedUntil holds when the pause ends, as RFC 3339, or PausedForever.
	AnnotationPausedUntil = Prefix + "paused-until"
	// AnnotationPausedBy names who paused the object, and AnnotationPausedReason is the reason. On
	// an object of another program, they accompany the field that pauses it.
	AnnotationPausedBy     = Prefix + "paused-by"
	AnnotationPausedReason = Prefix + "paused-reason"
	// PausedForever is the end of a pause that lasts until someone resumes the object.
	PausedForever = "forever"
)

// AnnotationRemovedSlots lists the slots that an object has given up, such as "1,4". Its
// pods are in the lowest slots besides. "scale --remove" and "scale --reuse" write it.
const AnnotationRemovedSlots = Prefix + "removed-slots"

// AnnotationParked holds, as JSON, the count of an object that is scaled to zero for a
// time, and who did that (ParkedCount).
const AnnotationParked = Prefix + "parked"

// AnnotationFailedRevision is the number of the last revision of an object whose pods
// never became ready, so that a command reverted it.
const AnnotationFailedRevision = Prefix + "failed-revision"

// AnnotationLastScale holds, as JSON, the last change of the count of an object by "scale".
// "scale --undo" reads it.
const AnnotationLastScale = Prefix + "last-scale"

// AnnotationDefaultContainer names the container of a pod whose log kubectl shows.
const AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"

// The condition types of all kinds that this project ships.
const (
	// ConditionReady is true when as many pods are ready as are wanted, and none is surplus.
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
	// AnnotationUser is the person's name on the host, AnnotationHost the host's name,
	// AnnotationPID the number of the process there.
	AnnotationUser = "imoocpod.dev/user"
	AnnotationHost = "imoocpod.dev/host"
	AnnotationPID  = "imoocpod.dev/pid"
	// AnnotationMachine identifies one boot of one machine and one process namespace on it, which
	// the host name does not. It is empty if unknown.
	AnnotationMachine = "imoocpod.dev/machine"
	// AnnotationVersion is the version of the program.
	AnnotationVersion = "imoocpod.dev/version"
	// AnnotationNamespace is the namespace that is reconciled, empty for all.
	// AnnotationKinds lists the kinds, as plural.group with commas. Empty means all shipped
	// kinds, and "*" also those that CRDs declare. AnnotationSelector is the selector of the
	// objects, empty for all.
	AnnotationNamespace = "imoocpod.dev/namespace"
	AnnotationKinds     = "imoocpod.dev/kinds"
	AnnotationSelector  = "imoocpod.dev/selector"
)

// LeaseNamespaceForAll holds the lease of a loop that reconciles all namespaces:
// it is on every cluster, and nobody with less than the rights of such a loop
// can take the lease there.
const LeaseNamespaceForAll = metav1.NamespaceSystem

// MaxNameLength is how long the name of an object may be: it is the value of a
// label of its pods. Each CRD has a rule that says so.
const MaxNameLength = 63
