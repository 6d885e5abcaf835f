// Package slots assigns the pods of an object to slots. With a replica count, the slots are the lowest numbers that the
// user has not removed. With one pod per node, there is a slot for each node.
package slots

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Slot is the place of an owner's pod: a number from 0 if the owner has a replica count, or a hash of the
// node's name if there is one pod per node. The two ranges do not overlap.
type Slot int64

// None means that a pod's name does not belong to a slot.
const None Slot = -1

const firstOfNodes Slot = 1 << 62

// OfNode returns the slot for a node's pod. A recreated node gets the same slot, because its name is the same.
func OfNode(node string) Slot {
	h := fnv.New64a()
	h.Write([]byte(node)) // a hash never returns an error
	return firstOfNodes | Slot(h.Sum64()>>2)
}

// IsNode reports whether the slot belongs to a node.
func (s Slot) IsNode() bool { return s >= firstOfNodes }

// String formats the slot for names and labels.
func (s Slot) String() string {
	if s.IsNode() {
		return strconv.FormatInt(int64(s), 16)
	}
	return strconv.FormatInt(int64(s), 10)
}

// maxName is the maximum length of a pod's name. The name is also the host name, which is a DNS label.
const maxName = 63

// PodName returns the only valid name for the pod of a slot. If a crash, a lost response, a stale read, or a second
// controller repeats a create, the server returns AlreadyExists and does not create a second pod. A recreated owner has
// a new UID, so its pods have new names. replaces is the UID of the stuck pod that the pod replaces, or "".
func PodName(owner string, uid, replaces types.UID, slot Slot) string {
	return ChildName(owner, uid+replaces, slot.String())
}

// ChildName returns the name of a child: the owner's name, a hash of uid, and a suffix. The owner's name is truncated
// to leave room for the suffix and for any number, so that the names for all numbers begin with the same text.
func ChildName(owner string, uid types.UID, suffix string) string {
	longest := max(len(suffix), len("2147483647"))
	if room := maxName - len("-01234567-") - longest; len(owner) > room {
		owner = strings.TrimRight(owner[:room], "-.")
	}
	h := fnv.New32a()
	h.Write([]byte(uid)) // a hash never returns an error
	return fmt.Sprintf("%s-%08x-%s", owner, h.Sum32(), suffix)
}

// OfPod returns the slot of an owner's pod, and the UID of the stuck pod that it replaces. Anyone can write the
// label with that UID, so the label is valid only if it matches the name of the pod, which cannot be changed.
func OfPod(pod *corev1.Pod, owner string, uid types.UID) (slot Slot, replaces types.UID) {
	replaces = types.UID(pod.Labels[apis.LabelReplaces])
	if slot = FromName(pod.Name, owner, uid, replaces); slot != None {
		return slot, replaces
	}
	return FromName(pod.Name, owner, uid, ""), ""
}

// FromName is the inverse of PodName. If the name belongs to no slot of the owner, it returns None.
func FromName(pod, owner string, uid, replaces types.UID) Slot {
	suffix := pod[strings.LastIndexByte(pod, '-')+1:]
	number, err := strconv.ParseInt(suffix, 10, 33) // removed slots can push numbers above MaxInt32
	if err != nil {
		number, _ = strconv.ParseInt(suffix, 16, 64) // if this fails, the name below differs from pod
	}
	if slot := Slot(number); PodName(owner, uid, replaces, slot) == pod {
		return slot
	}
	return None
}
