// Package apis holds what the API types below it have in common: the labels of
// the objects that a controller makes for them, and their conditions.
package apis

// The labels that the pods of an object carry beside their controller
// reference. They select what is watched and listed; ownership is the
// reference alone.
const (
	// LabelOwner holds the owner's UID.
	LabelOwner = "imoocpod.dev/owner-uid"
	// LabelSlot holds the slot that the pod fills.
	LabelSlot = "imoocpod.dev/slot"
	// LabelBypasses holds the UID of a lost pod that the pod was made in place of.
	LabelBypasses = "imoocpod.dev/bypasses"
	// LabelApp holds the owner's name, as in the tutorials.
	LabelApp = "app"
)

// The condition types of all kinds that this project ships.
const (
	// ConditionReady is true when as many pods are ready as are wanted, and none is surplus.
	ConditionReady = "Ready"
	// ConditionProgressing is true while pods are being made, replaced or removed.
	ConditionProgressing = "Progressing"
	// ConditionReplicaFailure is true when a pod could not be made.
	ConditionReplicaFailure = "ReplicaFailure"
)
