package plan

import "slices"

// maxUnavailable is a divisor. While pods are replaced, one pod in maxUnavailable, but at least one
// in total, may be unavailable. A quarter is also the default of a Deployment.
const maxUnavailable = 4

// outdated reports whether the pod was made from a template other than the owner's current one.
// Pods of the first version of this program have no hash. They count as up to date, because a new
// version of the program must not replace pods.
func (v View) outdated(p Pod) bool {
	return p.Template != "" && v.Owner.TemplateHash != "" && p.Template != v.Owner.TemplateHash
}

// roll returns deletions of outdated pods that fill wanted slots, highest slot first. A slot's name
// is free only when its pod is gone, so there are never more pods than slots. The bound
// (maxUnavailable) limits the slots without a ready pod, whatever the reason. Pods that are not
// ready are already counted, so they are replaced at once. A new pod that does not become ready
// counts as well. A broken template therefore takes down no more pods than the bound, and these
// are replaced when the template changes again.
func roll(v View, s slotSet, filling []Pod) []Operation {
	room := max(1, int(s.count)/maxUnavailable) - int(s.count)
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
	var list []Operation
	for _, pod := range outdated {
		if pod.Ready {
			if room <= 0 {
				continue
			}
			room--
		}
		list = append(list, pod.delete(Outdated))
	}
	return list
}
