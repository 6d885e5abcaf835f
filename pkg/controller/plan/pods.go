package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// maxCreates bounds one plan, not the owner: the next plan follows as soon as these
// pods exist. It keeps a typo in a count from becoming a list of two billion slots.
const maxCreates = 10_000

// Pods plans an owner that has its pods directly, one for each numbered slot.
//
//   - A slot without a pod is filled while the owner has room: it has no more live
//     pods than slots, terminating ones included.
//   - Slots that the owner has given up are skipped: higher ones are filled.
//   - Surplus pods are deleted while at least Desired active pods remain: first the
//     pods of removed slots, then the pods of the highest slots.
//   - Other pods outside the slots are replaced one by one.
//   - Pods with an older template are replaced a few at a time (roll).
//   - Pods of nodes are from before the kind changed its plan, and stay.
//   - Finished pods are deleted after the back-off of their slot, which frees the
//     name.
//   - Pods that stay get back the labels by which selectors find them.
//   - While the template is invalid, no pod is deleted that would be replaced.
//   - An owner that is being deleted gets nothing: the garbage collector removes its
//     pods.
//   - An invalid owner gets only a status.
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
	pods := relevant(v, s)
	missing := missing(v, pods, s)
	p := Actions{Memory: remember(v, pods, missing, s)}
	p.Operations, p.Recheck = deletions(v, pods, p.Memory, s)
	if v.Owner.Problem != "" {
		// What cannot be replaced is not deleted.
		p.Operations = slices.DeleteFunc(p.Operations, func(o Operation) bool {
			return o.Reason == Outdated || o.Reason == Finished && s.wants(o.Slot)
		})
		missing = nil
	}
	p.restoreLabels(v)
	p.Operations = slices.Grow(p.Operations, len(missing))
	for _, create := range missing {
		if wait := p.Memory.wait(create.Slot, v); wait > 0 {
			p.Recheck = sooner(p.Recheck, wait)
			continue
		}
		create.Name = slots.PodName(v.Owner.Name, v.Owner.UID, create.Replaces, create.Slot)
		p.Operations = append(p.Operations, create)
	}
	p.podsStatus(v, s)
	return p
}

// RelabelInterval is how long the labels of pods are left alone after a refusal.
const RelabelInterval = 30 * time.Second

// restoreLabels restores the identity labels of the pods that stay. The loop does not
// depend on them: they are for the selector in the status, for Services, and for people.
func (p *Actions) restoreLabels(v View) {
	var list []Operation
	for _, pod := range v.Pods {
		if pod.Unlabeled && !pod.Terminating && !slices.ContainsFunc(p.Operations, func(o Operation) bool { return o.UID == pod.UID }) {
			list = append(list, Operation{
				Verb: Patch, Kind: KindPod, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
				Slot: pod.Slot, Replaces: pod.Replaces, Optional: true, Text: "restore the labels of pod " + pod.Name,
			})
		}
	}
	if len(list) == 0 {
		return
	}
	if wait := left(v.Memory.LabelRefused, RelabelInterval, v.Now); wait > 0 {
		p.Recheck = sooner(p.Recheck, wait)
		return
	}
	p.Operations = append(p.Operations, list...)
}

// relevant leaves out pods that neither fill a slot nor take room: stuck pods, which the loop
// cannot end, and pods of the kind's other plan, which stay.
func relevant(v View, s slotSet) []Pod {
	ignored := func(p Pod) bool { return v.stuckTerminating(p) || s.ofOtherPlan(p.Slot) }
	if !slices.ContainsFunc(v.Pods, ignored) {
		return v.Pods
	}
	return slices.DeleteFunc(slices.Clone(v.Pods), ignored)
}

// ending returns the time at which each terminating pod was first seen terminating.
func ending(v View) map[types.UID]time.Time {
	since := map[types.UID]time.Time{}
	for _, pod := range v.Pods {
		if pod.Terminating {
			since[pod.UID] = v.endingSince(pod)
		}
	}
	return since
}

// missing lists creates for the slots that have no pod and for which there is room,
// lowest slot first. They have no names yet: most plans make none of them.
func missing(v View, pods []Pod, s slotSet) []Operation {
	live := int32(0)
	taken := make(map[slots.Slot]bool, len(pods))
	for _, pod := range pods {
		if pod.live() {
			live++
		}
		taken[pod.Slot] = true
	}
	stuck := stuckPods(v)
	room := maxCreates
	if s.nodes == nil {
		room = int(min(s.count-live, maxCreates))
	}
	var list []Operation
	for slot := range s.all {
		if len(list) >= room {
			break
		}
		if !taken[slot] {
			list = append(list, Operation{Verb: Create, Kind: KindPod, Slot: slot, Replaces: stuck[slot], Node: s.nodes[slot]})
		}
	}
	return list
}

// stuckPods returns, for each slot with stuck pods, the one to replace: the one that
// no other pod replaces yet.
func stuckPods(v View) map[slots.Slot]types.UID {
	replaced := map[types.UID]bool{}
	for _, pod := range v.Pods {
		replaced[pod.Replaces] = true
	}
	stuck := map[slots.Slot]types.UID{}
	for _, pod := range v.Pods {
		if v.stuckTerminating(pod) && !replaced[pod.UID] {
			stuck[pod.Slot] = pod.UID
		}
	}
	return stuck
}

// remember updates the memory of the slots: it counts failures, and forgets steady
// slots, slots that are not wanted, and refusals for slots that are filled.
func remember(v View, pods []Pod, missing []Operation, s slotSet) Memory {
	m := v.Memory
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
		m.Failures = nil // an emptied map keeps its memory
	}
	m.Refusals = maps.Clone(m.Refusals)
	maps.DeleteFunc(m.Refusals, func(slot slots.Slot, _ Refusal) bool {
		_, found := slices.BinarySearchFunc(missing, slot, func(o Operation, slot slots.Slot) int { return cmp.Compare(o.Slot, slot) })
		return !found && (slot != slots.None || len(missing) == 0)
	})
	return m
}

// deletions lists the pods to delete, and returns how soon a finished pod is due or
// a terminating one is stuck.
func deletions(v View, pods []Pod, m Memory, s slotSet) (list []Operation, recheck time.Duration) {
	var misplaced []Pod
	filling := make([]Pod, 0, len(pods))
	filled := fillers(pods, s)
	moving, ready := false, true
	held := 0 // names of wanted slots that terminating or finished pods hold
	for _, pod := range pods {
		if _, taken := filled[pod.Slot]; !taken && s.wants(pod.Slot) {
			held++
		}
		if pod.Terminating && s.nodes == nil {
			recheck = sooner(recheck, v.stuckTerminatingIn(pod))
		}
		switch {
		case pod.Finished && pod.Terminating:
			// It frees its name without help.
		case pod.Finished:
			// Unwanted slots have no failures, so there is nothing to wait for.
			if wait := m.Failures[pod.Slot].left(v.Now); !v.outdated(pod) && wait > 0 {
				recheck = sooner(recheck, wait)
				continue
			}
			list = append(list, pod.delete(Finished))
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
	// Only pods that stay count: the others are about to go.
	surplus := len(filling) - len(rolled) + len(misplaced) - int(s.count)
	if s.nodes != nil {
		surplus = len(misplaced) // no other node waits for them
	}
	// A misplaced pod may go only if a slot is free for its replacement.
	moving = moving || surplus != 0 || len(rolled) > 0 || held >= len(misplaced)
	for _, pod := range misplaced[:max(0, surplus)] {
		list = append(list, pod.delete(Surplus))
	}
	if !moving {
		// A pod that is not ready goes first. The next one waits until this one is gone
		// and its replacement is ready.
		i := slices.IndexFunc(misplaced, func(p Pod) bool { return !p.Ready })
		if i < 0 && ready {
			i = 0
		}
		if i >= 0 {
			list = append(list, misplaced[i].delete(Outdated))
		}
	}
	return list, recheck
}

func (p Pod) delete(why Reason) Operation {
	return Operation{Verb: Delete, Kind: KindPod, Name: p.Name, UID: p.UID, Slot: p.Slot, Reason: why, Optional: true}
}

// fillers returns the UID of the active pod that fills each wanted slot. Two can be
// there after a stuck pod was replaced: then it is the one with the ordinary name.
func fillers(pods []Pod, s slotSet) map[slots.Slot]types.UID {
	filled := make(map[slots.Slot]types.UID, len(pods))
	for _, pod := range pods {
		if !pod.Active() || !s.wants(pod.Slot) {
			continue
		}
		if _, taken := filled[pod.Slot]; !taken || pod.Replaces == "" {
			filled[pod.Slot] = pod.UID
		}
	}
	return filled
}

// highestFirst orders pods from the highest slot down. Pods without a slot are last.
func highestFirst(a, b Pod) int {
	return cmp.Or(cmp.Compare(b.Slot, a.Slot), cmp.Compare(a.Name, b.Name))
}
