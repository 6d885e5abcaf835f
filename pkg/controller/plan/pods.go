package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// maxCreates is the maximum number of creates in one plan. Without it, a typo in a replica count could
// result in a list of two billion slots. Later plans create the remaining pods.
const maxCreates = 10_000

// Pods returns the plan for an owner that controls one pod in each numbered slot. testdata/plans has examples.
func Pods(v View) Actions { return fill(v, numbered(v.Owner.Desired, v.Owner.Removed)) }

// fill returns the plan for an owner that wants a pod in each slot of a set.
func fill(v View, s slotSet) Actions {
	if v.Owner.Invalid != "" {
		return invalid(v, countPods(v, slotSet{nodes: s.nodes, wants: func(slots.Slot) bool { return true }}))
	}
	if s.nodes == nil {
		v.Memory.Ending = ending(v)
	}
	pods := relevant(v, s)
	empty := creates(v, pods, s)
	missing := empty
	if s.nodes == nil { // the count limits the live pods, even those in slots that are not wanted
		room := int(s.count - problem.Count(pods, Pod.live))
		missing = empty[:max(0, min(room, len(empty)))]
	}
	a := Actions{Memory: remember(v, pods, empty, s)}
	a.Operations, a.Recheck = deletions(v, pods, empty, a.Memory, s)
	if v.Owner.Problem != "" {
		// No pod can be created now, so do not delete pods that need a replacement.
		a.Operations = slices.DeleteFunc(a.Operations, func(o Operation) bool {
			return o.Verb == Try || o.Reason == Outdated || o.Reason == Finished && s.wants(o.Slot)
		})
		missing = nil
	}
	a.restoreLabels(v)
	for _, create := range missing {
		if wait := a.Memory.wait(create.Slot, v); wait > 0 {
			a.Recheck = sooner(a.Recheck, wait)
			continue
		}
		a.Operations = append(a.Operations, v.named(create))
	}
	found := countPods(v, s)
	a.decideStatus(v, found,
		readyCondition(found, s.nodes == nil),
		a.podsProgress(v, s, found),
		a.failureCondition(v, nil))
	return a
}

// RelabelInterval is the delay after a refused attempt to restore the labels of a pod.
const RelabelInterval = 30 * time.Second

// restoreLabels adds operations that restore the identity labels of the pods that stay. Plans do not
// need these labels, but users, Services, and the selector in the status do.
func (a *Actions) restoreLabels(v View) {
	deletions, wait := a.Operations, left(v.Memory.LabelRefused, RelabelInterval, v.Now)
	for _, pod := range v.Pods {
		deleted := func(o Operation) bool { return o.UID == pod.UID }
		switch {
		case pod.Label == v.Owner.UID, pod.Terminating, slices.ContainsFunc(deletions, deleted):
		case wait > 0:
			a.Recheck = sooner(a.Recheck, wait)
		default:
			a.Operations = append(a.Operations, Operation{
				Verb: Patch, Kind: KindPod, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
				Slot: pod.Slot, Replaces: pod.Replaces, Optional: true, Text: "restore the labels of pod " + pod.Name,
			})
		}
	}
}

// relevant returns the pods that can occupy a slot or be deleted. It omits stuck pods, which the controller
// cannot remove, and pods from the kind's previous strategy, which stay.
func relevant(v View, s slotSet) []Pod {
	ignored := func(p Pod) bool { return v.stuckTerminating(p) || s.ofOtherPlan(p.Slot) }
	if !slices.ContainsFunc(v.Pods, ignored) {
		return v.Pods
	}
	return slices.DeleteFunc(slices.Clone(v.Pods), ignored)
}

func ending(v View) map[types.UID]Termination {
	all := map[types.UID]Termination{}
	for _, pod := range v.Pods {
		if pod.Terminating {
			all[pod.UID] = Termination{v.endingSince(pod), pod.Grace}
		}
	}
	return all
}

// creates returns the creates for the empty slots, lowest slot first, but at most maxCreates. named sets their names.
func creates(v View, pods []Pod, s slotSet) (list []Operation) {
	taken := make(map[slots.Slot]bool, len(pods))
	for _, pod := range pods {
		taken[pod.Slot] = true
	}
	stuck := stuckPods(v)
	for slot := range s.all {
		if len(list) >= maxCreates {
			break
		}
		if !taken[slot] {
			list = append(list, Operation{Verb: Create, Kind: KindPod, Slot: slot, Replaces: stuck[slot], Node: s.nodes[slot]})
		}
	}
	return list
}

// stuckPods returns, by slot, the UID of the stuck pod to replace. It omits stuck pods that already have a replacement.
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

// remember returns the memory with new failures counted, without failures of unwanted slots or of slots with a steady
// pod. It also drops the refusals for slots that are not empty and, if no slot is empty, the refusal for all slots.
func remember(v View, pods []Pod, empty []Operation, s slotSet) Memory {
	m := v.Memory
	m.Failures = map[slots.Slot]Failure{} // deleting entries from a map would not free its memory
	for slot, failure := range v.Memory.Failures {
		if s.wants(slot) {
			m.Failures[slot] = failure
		}
	}
	for _, pod := range pods {
		if !s.wants(pod.Slot) {
			continue
		}
		if seen := m.Failures[pod.Slot].seen(pod, v.Now); seen.Count > 0 {
			m.Failures[pod.Slot] = seen
		} else {
			delete(m.Failures, pod.Slot)
		}
	}
	m.Refusals = maps.Clone(m.Refusals)
	maps.DeleteFunc(m.Refusals, func(slot slots.Slot, _ Refusal) bool {
		_, found := slices.BinarySearchFunc(empty, slot, func(o Operation, slot slots.Slot) int { return cmp.Compare(o.Slot, slot) })
		return !found && (slot != slots.None || len(empty) == 0)
	})
	return m
}

// deletions returns the operations that delete pods, and the dry run from move. recheck is the shortest delay until a
// finished pod can be deleted, a terminating pod counts as stuck, or move can retry a refused create. Zero means none.
func deletions(v View, pods []Pod, empty []Operation, m Memory, s slotSet) (list []Operation, recheck time.Duration) {
	var misplaced []Pod
	filling := make([]Pod, 0, len(pods))
	filled := fillers(pods, s)
	moving, ready := false, true
	held := 0 // terminating or finished pods in wanted slots that no active pod fills
	for _, pod := range pods {
		if _, taken := filled[pod.Slot]; !taken && s.wants(pod.Slot) {
			held++
		}
		if pod.Terminating && s.nodes == nil {
			recheck = sooner(recheck, v.stuckTerminatingIn(pod))
		}
		switch {
		case pod.Finished && pod.Terminating:
			// Wait until the pod is gone and its name is free.
		case pod.Finished:
			// Unwanted slots have no failures, so their finished pods are deleted immediately.
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
		case !s.kept[pod.Slot]:
			misplaced = append(misplaced, pod)
		}
	}
	rolled := roll(v, s, filling)
	list = append(list, rolled...)
	slices.SortFunc(misplaced, s.firstToGo)
	// Do not count the outdated pods that are about to be deleted.
	surplus := len(filling) - len(rolled) + len(misplaced) - int(s.count)
	if s.nodes != nil {
		surplus = len(misplaced) // pods on different nodes do not replace each other
	}
	// A misplaced pod is replaced only if a slot is free for its replacement.
	moving = moving || surplus != 0 || len(rolled) > 0 || held >= len(misplaced)
	for _, pod := range misplaced[:max(0, surplus)] {
		list = append(list, pod.delete(Surplus))
	}
	if !moving {
		if wait := m.wait(empty[0].Slot, v); wait > 0 {
			return list, sooner(recheck, wait)
		}
		list = append(list, v.move(misplaced, ready, empty[0])...)
	}
	return list, recheck
}

// move returns the operations that replace one misplaced pod: a dry run of the create, then the delete. A later plan
// creates the replacement. A ready pod is replaced only if all pods in wanted slots, including replacements, are ready.
func (v View) move(misplaced []Pod, ready bool, create Operation) []Operation {
	i := slices.IndexFunc(misplaced, func(p Pod) bool { return !p.Ready })
	if i < 0 && !ready {
		return nil
	}
	create = v.named(create)
	create.Verb, create.Text = Try, "create pod "+create.Name
	return []Operation{create, misplaced[max(0, i)].delete(Outdated)}
}

func (v View) named(create Operation) Operation {
	create.Name = slots.PodName(v.Owner.Name, v.Owner.UID, create.Replaces, create.Slot)
	return create
}

func (p Pod) delete(why Reason) Operation {
	return Operation{Verb: Delete, Kind: KindPod, Name: p.Name, UID: p.UID, Slot: p.Slot, Reason: why, Optional: true}
}

// fillers returns, by slot, the UID of the active pod that fills a wanted slot. If a slot has two active
// pods, the pod that does not replace a stuck pod fills the slot.
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

// highestFirst orders pods by descending slot. Pods without a slot are last.
func highestFirst(a, b Pod) int {
	return cmp.Or(cmp.Compare(b.Slot, a.Slot), cmp.Compare(a.Name, b.Name))
}

// maxUnavailable is a divisor: during a rolling update, a quarter of the pods, but at least one, may be unavailable. A
// quarter is also the default of a Deployment.
const maxUnavailable = 4

// outdated reports whether the pod's template differs from the owner's current template. Pods from the first version of
// this program have no hash. They are never outdated, because an upgrade of the program must not replace pods.
func (v View) outdated(p Pod) bool {
	return p.Template != "" && v.Owner.TemplateHash != "" && p.Template != v.Owner.TemplateHash
}

// roll returns deletions of outdated pods that fill wanted slots, highest slot first. A replacement has the same name,
// so it is created after the old pod is gone. The number of slots without a ready pod is limited (see maxUnavailable).
// An outdated pod that is not ready is deleted immediately, because its slot already has no ready pod. A broken
// template takes down only a limited number of pods, because new pods that are not ready also count as unavailable.
func roll(v View, s slotSet, filling []Pod) []Operation {
	ready := problem.Count(filling, func(p Pod) bool { return p.Ready })
	room := max(1, s.count/maxUnavailable) - (s.count - ready)
	var outdated []Pod
	for _, pod := range filling {
		if v.outdated(pod) {
			outdated = append(outdated, pod)
		}
	}
	slices.SortFunc(outdated, highestFirst)
	var list []Operation
	for _, pod := range outdated {
		if pod.Ready {
			room--
		}
		if !pod.Ready || room >= 0 {
			list = append(list, pod.delete(Outdated))
		}
	}
	return list
}
