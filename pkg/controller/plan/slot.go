package plan

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Slot is the place of one pod of an owner: a number from 0 for replicas, a
// hash of the node's name for a pod per node. The two share no value.
type Slot int64

// NoSlot is the slot of a pod whose name is not that of any slot.
const NoSlot Slot = -1

// firstNodeSlot is the lowest of the slots that stand for nodes.
const firstNodeSlot Slot = 1 << 62

// NodeSlot is the slot of the pod for a node. It is a function of the node's
// name: one that comes back under its name has the slot that it had.
func NodeSlot(node string) Slot {
	h := fnv.New64a()
	h.Write([]byte(node)) // a hash never returns an error
	return firstNodeSlot | Slot(h.Sum64()>>2)
}

// ofNode reports whether the slot stands for a node.
func (s Slot) ofNode() bool { return s >= firstNodeSlot }

// String is the slot as it stands in names and labels.
func (s Slot) String() string {
	if s.ofNode() {
		return strconv.FormatInt(int64(s), 16)
	}
	return strconv.FormatInt(int64(s), 10)
}

// room is how many characters the slots of its sort need at the most.
func (s Slot) room() int {
	if s.ofNode() {
		return 16
	}
	return 10
}

// maxName is how long a pod's name may be: it is its host name, a DNS label.
const maxName = 63

// PodName is the one name of a slot's pod. It is a function of the owner's UID
// and the slot, so that a create that is repeated after a crash, a lost reply,
// on a stale cache or by a second loop meets AlreadyExists instead of making a
// second pod, and an owner recreated under its old name never meets old pods.
// The name of a pod that replaces a stuck one is hashed over that one's UID too.
func PodName(owner string, uid, replaces types.UID, slot Slot) string {
	return childName(owner, uid, replaces, slot.String(), slot.room())
}

// childName is the name of something that an owner has: the owner's name, a hash of
// its UID, and what tells it apart from others of its sort, which has no more
// characters than room.
func childName(owner string, uid, replaces types.UID, what string, room int) string {
	// Of the owner's name as much as a dash, eight hexadecimal digits, another
	// dash and the longest of its sort leave.
	if longest := maxName - 1 - 8 - 1 - room; len(owner) > longest {
		owner = strings.TrimRight(owner[:longest], "-.")
	}
	h := fnv.New32a()
	h.Write([]byte(uid)) // a hash never returns an error
	h.Write([]byte(replaces))
	return fmt.Sprintf("%s-%08x-%s", owner, h.Sum32(), what)
}

// SlotOfPod is the slot that a pod's name stands for, and the lost pod that it
// replaces. Anybody may write the label that tells of one; the name, which nobody
// can change, decides whether it is true.
func SlotOfPod(pod *corev1.Pod, owner string, uid types.UID) (slot Slot, replaces types.UID) {
	replaces = types.UID(pod.Labels[apis.LabelReplaces])
	if slot = SlotOf(pod.Name, owner, uid, replaces); slot != NoSlot {
		return slot, replaces
	}
	return SlotOf(pod.Name, owner, uid, ""), ""
}

// SlotOf returns the slot that a pod's name stands for, or NoSlot for a name
// that PodName does not give for this owner.
func SlotOf(pod, owner string, uid, replaces types.UID) Slot {
	text := pod[strings.LastIndexByte(pod, '-')+1:]
	number, err := strconv.ParseInt(text, 10, 33) // above the highest count there may be removed ones
	if err != nil {
		number, _ = strconv.ParseInt(text, 16, 64) // of what is no number, the name is another
	}
	if slot := Slot(number); PodName(owner, uid, replaces, slot) == pod {
		return slot
	}
	return NoSlot
}
