package plan

import "slices"

// atOnce is the part of an owner's pods that may be unavailable while they are
// replaced: a quarter, as a Deployment has it by default, and always one.
const atOnce = 4

// outdated says that the pod was made from another template than the owner has
// now. One that does not say what it was made from, as those of the first
// version of this program, counts as up to date: a new version of the program
// is no reason to replace anybody's pods.
func (v View) outdated(p Pod) bool {
	return p.Template != "" && v.Owner.TemplateHash != "" && p.Template != v.Owner.TemplateHash
}

// roll lists the pods that are deleted to be made anew from the present
// template, of those that fill the wanted slots. The name of a slot is free only
// when its pod is gone, so there are never more pods than slots; what is bounded
// is how many slots are without a ready pod, for whatever reason. Pods that are
// not ready count already, so they are replaced without waiting; a pod of the
// present template that does not become ready counts too, so that a broken
// template takes down no more than the bound, and the next one mends it.
func roll(v View, s slotSet, filling []Pod) []Deletion {
	room := max(1, int(s.count)/atOnce) - int(s.count)
	var outdated []Pod
	for _, pod := range filling {
		if pod.Ready {
			room++
		}
		if v.outdated(pod) {
			outdated = append(outdated, pod)
		}
	}
	slices.SortFunc(outdated, highestFirst)
	var list []Deletion
	for _, pod := range outdated {
		if pod.Ready {
			if room <= 0 {
				continue
			}
			room--
		}
		list = append(list, Deletion{Pod: pod, Why: Outdated})
	}
	return list
}
