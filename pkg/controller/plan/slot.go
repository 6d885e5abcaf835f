package plan

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// maxPrefix is how much of the owner's name fits into a pod's: a pod's name is
// its host name, a DNS label of 63 characters, and a dash, eight hexadecimal
// digits, a dash and the ten digits of the highest slot follow.
const maxPrefix = 63 - 1 - 8 - 1 - 10

// PodName is the one name of a slot's pod. It is a function of the owner's UID
// and the slot, so that a create that is repeated after a crash, a lost reply,
// on a stale cache or by a second loop meets AlreadyExists instead of making a
// second pod, and an owner recreated under its old name never meets old pods.
// The name of a pod that bypasses a lost one is hashed over that one's UID too.
func PodName(owner string, uid, bypasses types.UID, slot int32) string {
	if len(owner) > maxPrefix {
		owner = strings.TrimRight(owner[:maxPrefix], "-.")
	}
	h := fnv.New32a()
	h.Write([]byte(uid)) // a hash never returns an error
	h.Write([]byte(bypasses))
	return fmt.Sprintf("%s-%08x-%d", owner, h.Sum32(), slot)
}

// SlotOf returns the slot that a pod's name stands for, or NoSlot for a name
// that PodName does not give for this owner.
func SlotOf(pod, owner string, uid, bypasses types.UID) int32 {
	dash := strings.LastIndexByte(pod, '-')
	slot, err := strconv.ParseInt(pod[dash+1:], 10, 32)
	if err != nil || slot < 0 || PodName(owner, uid, bypasses, int32(slot)) != pod {
		return NoSlot
	}
	return int32(slot)
}
