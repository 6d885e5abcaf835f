package plan

import "slices"

// maxUnavailable is the fraction of an owner's pods that may be unavailable while
// they are replaced: a quarter, the default of a Deployment, but at least one.
const maxUnavailable = 4

// outdated reports whether the pod was made from another template than the owner
// has now. A pod without a hash, as the first version of this program made them, is
// up to date: a new version of the program is no reason to replace pods.
func (v View) outdated(p Pod) bool {
	return p.Template != "" && v.Owner.TemplateHash != "" && p.Template != v.Owner.TemplateHash
}

// roll lists the outdated pods to delete, of those that fill the wanted slots. A
// slot's name is free only when its pod is gone, so there are never more pods than
// slots. The bound is on the slots without a ready pod, for whatever reason. Pods
// that are not ready are already counted, so they are replaced at once. A new pod
// that does not become ready counts as well: a broken template takes down no more
// than the bound, and the next template repairs it.
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
