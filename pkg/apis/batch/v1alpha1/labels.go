package v1alpha1

// The labels that the pods of an ImoocPod carry beside their controller
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
