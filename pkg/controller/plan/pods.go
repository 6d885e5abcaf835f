package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// maxCreates bounds one plan, not the owner: what is left is planned again as
// soon as these are made. It keeps a replica count with a digit too many from
// becoming a list of two thousand million slots.
const maxCreates = 10_000

// Pods plans an owner that has its pods directly, one for each slot.
//
//   - A slot without a pod is filled while the owner has room: no more live
//     pods than slots, a terminating one counted.
//   - Slots that the owner has given up are skipped: the next higher ones are filled.
//   - Surplus pods go, those of such slots first, then those of the highest slots,
//     while at least Desired active pods stay.
//   - What then still stands outside the slots is replaced one by one.
//   - Pods of an older template are replaced a few at a time (roll).
//   - Pods of nodes are from when the kind had the other plan, and stay.
//   - Finished pods are deleted after their slot's back-off, which frees the name.
//   - Pods that stay get back the labels by which selectors find them.
//   - While no pod can be made from the template, none is deleted to be replaced.
//   - An owner that is being deleted gets nothing: its pods are the garbage
//     collector's.
//   - Of an owner that is invalid only the status is written.
func Pods(v View) Actions { return fill(v, numbered(v.Owner.Desired, v.Owner.Removed)) }

// fill plans an owner for the slots that it wants pods in.
func fill(v View, s slotSet) Actions {
	if v.Owner.Deleting {
		return Actions{Memory: v.Memory}
	}
	if v.Owner.Invalid != "" {
		return invalid(v, countPods(v, slotSet{nodes: s.nodes, wants: func(slots.Slot) bool { return true }}))
	}
	if s.nodes == nil {
		v.Memory.Ending = ending(v)
	}
	pods := present(v, s)
	missing := missing(v, pods, s)
	p := Actions{Memory: remember(v, pods, missing, s)}
	p.Delete, p.Recheck = deletions(v, pods, p.Memory, s)
	if v.Owner.Problem != "" {
		// What cannot be replaced is not deleted.
		p.Delete = slices.DeleteFunc(p.Delete, func(d Deletion) bool { return d.Why == Outdated || d.Why == Finished && s.wants(d.Slot) })
		missing = nil
	}
	for _, creation := range missing {
		if wait := p.Memory.wait(creation.Slot, v); wait > 0 {
			p.Recheck = sooner(p.Recheck, wait)
			continue
		}
		p.Create = append(p.Create, creation)
	}
	p.label(v)
	p.podsStatus(v, s)
	return p
}

// RelabelInterval is how long the labels of pods are left alone after a refusal.
const RelabelInterval = 30 * time.Second

// label restores the identity labels of the pods that stay. Nothing in the loop
// depends on them: they are for the selector in the status, for Services, and for people.
func (p *Actions) label(v View) {
	var unlabelled []Pod
	for _, pod := range v.Pods {
		if pod.Unlabelled && !pod.Terminating && !slices.ContainsFunc(p.Delete, func(d Deletion) bool { return d.UID == pod.UID }) {
			unlabelled = append(unlabelled, pod)
		}
	}
	if len(unlabelled) == 0 {
		return
	}
	if wait := left(v.Memory.LabelRefused, RelabelInterval, v.Now); wait > 0 {
		p.Recheck = sooner(p.Recheck, wait)
		return
	}
	p.Label = unlabelled
}

// present leaves out the pods that neither fill a slot nor take room: the lost ones,
// about which nothing more can be done, and those of another plan, which stay.
func present(v View, s slotSet) []Pod {
	out := func(p Pod) bool { return v.stuckTerminating(p) || s.ofOtherPlan(p.Slot) }
	if !slices.ContainsFunc(v.Pods, out) {
		return v.Pods
	}
	return slices.DeleteFunc(slices.Clone(v.Pods), out)
}

// ending brings up to date since when the pods that are ending do.
func ending(v View) map[types.UID]time.Time {
	since := map[types.UID]time.Time{}
	for _, pod := range v.Pods {
		if pod.Terminating {
			since[pod.UID] = v.endingSince(pod)
		}
	}
	return since
}

// missing lists the pods of the slots that have none and for which there is
// room, lowest slot first.
func missing(v View, pods []Pod, s slotSet) []Creation {
	live := int32(0)
	taken := make(map[slots.Slot]bool, len(pods))
	for _, pod := range pods {
		if pod.live() {
			live++
		}
		taken[pod.Slot] = true
	}
	lost := stuckPods(v)
	room := maxCreates
	if s.nodes == nil {
		room = int(min(s.count-live, maxCreates))
	}
	var list []Creation
	for slot := range s.all {
		if len(list) >= room {
			break
		}
		if !taken[slot] {
			list = append(list, Creation{Slot: slot, Replaces: lost[slot], Node: s.nodes[slot]})
		}
	}
	return list
}

// stuckPods gives for each slot with stuck pods the one that is to be replaced:
// that which no other pod replaces yet.
func stuckPods(v View) map[slots.Slot]types.UID {
	replaced := map[types.UID]bool{}
	for _, pod := range v.Pods {
		replaced[pod.Replaces] = true
	}
	lost := map[slots.Slot]types.UID{}
	for _, pod := range v.Pods {
		if v.stuckTerminating(pod) && !replaced[pod.UID] {
			lost[pod.Slot] = pod.UID
		}
	}
	return lost
}

// remember brings up to date what is known of the slots: failures are counted,
// steady slots forgotten, and what concerns no wanted slot is dropped.
func remember(v View, pods []Pod, missing []Creation, s slotSet) Memory {
	m := v.Memory
	// A map that was ever written to keeps its room: for most objects there is none.
	m.Failures = maps.Clone(m.Failures)
	maps.DeleteFunc(m.Failures, func(slot slots.Slot, _ Failure) bool { return !s.wants(slot) })
	for _, pod := range pods {
		if !s.wants(pod.Slot) {
			continue
		}
		seen := m.Failures[pod.Slot].seen(pod, v.Now)
		switch {
		case seen.Count == 0:
			delete(m.Failures, pod.Slot)
		case m.Failures == nil:
			m.Failures = map[slots.Slot]Failure{pod.Slot: seen}
		default:
			m.Failures[pod.Slot] = seen
		}
	}
	if len(m.Failures) == 0 {
		m.Failures = nil
	}
	m.Refusals = maps.Clone(m.Refusals)
	maps.DeleteFunc(m.Refusals, func(slot slots.Slot, _ Refusal) bool {
		_, found := slices.BinarySearchFunc(missing, slot, func(c Creation, slot slots.Slot) int { return cmp.Compare(c.Slot, slot) })
		return !found && (slot != slots.None || len(missing) == 0)
	})
	return m
}

// wait is how long the create of a slot has to wait after a refusal. A change of
// the owner is worth an attempt at once.
func (m Memory) wait(slot slots.Slot, v View) time.Duration {
	var wait time.Duration
	for _, of := range []slots.Slot{slot, slots.None} {
		if r := m.Refusals[of]; r.Generation == v.Owner.Generation {
			wait = max(wait, r.left(v.Now))
		}
	}
	return wait
}

// deletions lists the pods to delete, and how soon a finished one becomes due
// or a terminating one is lost.
func deletions(v View, pods []Pod, m Memory, s slotSet) (list []Deletion, recheck time.Duration) {
	var misplaced []Pod
	filling := make([]Pod, 0, len(pods))
	filled := fillers(pods, s)
	moving, ready := false, true
	held := 0 // pods that have the names of wanted slots, and end or have ended
	for _, pod := range pods {
		if _, taken := filled[pod.Slot]; !taken && s.wants(pod.Slot) {
			held++
		}
		if pod.Terminating && s.nodes == nil {
			recheck = sooner(recheck, v.stuckTerminatingIn(pod))
		}
		switch {
		case pod.Finished && pod.Terminating:
			// On its way; its name comes free by itself.
		case pod.Finished:
			// Of a slot that is not wanted, no failures are remembered.
			if wait := m.Failures[pod.Slot].left(v.Now); !v.outdated(pod) && wait > 0 {
				recheck = sooner(recheck, wait)
				continue
			}
			list = append(list, Deletion{Pod: pod, Why: Finished})
		case pod.Terminating:
			moving = true
		case filled[pod.Slot] == pod.UID:
			filling = append(filling, pod)
			ready = ready && pod.Ready
		case !s.keeps(pod.Slot):
			misplaced = append(misplaced, pod)
		}
	}
	rolled := roll(v, s, filling)
	list = append(list, rolled...)
	slices.SortFunc(misplaced, s.firstToGo)
	// Only the pods that stay count: the others are on their way out already.
	surplus := len(filling) - len(rolled) + len(misplaced) - int(s.count)
	if s.nodes != nil {
		surplus = len(misplaced) // no other node waits for them
	}
	// A pod that goes must have a free place to be made anew in.
	moving = moving || surplus != 0 || len(rolled) > 0 || held >= len(misplaced)
	for _, pod := range misplaced[:max(0, surplus)] {
		list = append(list, Deletion{Pod: pod, Why: Surplus})
	}
	if !moving {
		// One that is not ready goes first. The next one waits until this one is gone
		// and the pod in its place is ready.
		i := slices.IndexFunc(misplaced, func(p Pod) bool { return !p.Ready })
		if i < 0 && ready {
			i = 0
		}
		if i >= 0 {
			list = append(list, Deletion{Pod: misplaced[i], Why: Outdated})
		}
	}
	return list, recheck
}

// fillers gives for each wanted slot with active pods the one that fills it. Two
// can be there after a lost pod was replaced; then it is the one with the slot's ordinary name.
func fillers(pods []Pod, s slotSet) map[slots.Slot]types.UID {
	filled := make(map[slots.Slot]types.UID, len(pods))
	for _, pod := range pods {
		if !pod.active() || !s.wants(pod.Slot) {
			continue
		}
		if _, taken := filled[pod.Slot]; !taken || pod.Replaces == "" {
			filled[pod.Slot] = pod.UID
		}
	}
	return filled
}

// highestFirst is the order of slots from the highest down; pods that never had a
// slot come last.
func highestFirst(a, b Pod) int {
	return cmp.Or(cmp.Compare(b.Slot, a.Slot), cmp.Compare(a.Name, b.Name))
}

// sooner is the smaller of two delays, of which zero means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
