package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Group is a set of pods with a name and a count in the spec, or a pair of counts in the status.
type Group struct {
	// Path is the field of the count. A pair of counts has neither Name nor Path.
	Name, Path string
	// Desired is the count in the field. Pods is the number of pods that this count requires.
	Desired, Pods int32
	// Ready is the number of ready and finished pods, or nil if unknown. From is where the status reports this number.
	Ready *int32
	From  string

	// label is the key of the pod label whose values are group names, or "" if there is none.
	// current and ready are the numbers of active and ready pods whose label names this group.
	label          string
	current, ready int32
}

// labeled returns the object with the pods of its groups counted by the pod label with the most group names as values.
func (o Object) labeled(pods []problem.Pod) Object {
	names, named := sets.New[string](), map[string]map[string][]*problem.Pod{} // by label and value
	for _, g := range o.Groups {
		names.Insert(g.Name)
	}
	for i := range pods {
		for key, value := range pods[i].Object.Labels {
			if value == "" || !names.Has(value) {
				continue
			}
			if named[key] == nil {
				named[key] = map[string][]*problem.Pod{}
			}
			named[key][value] = append(named[key][value], &pods[i])
		}
	}
	label := ""
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if len(named[key]) > len(named[label]) {
			label = key
		}
	}
	o.Groups = slices.Clone(o.Groups)
	for i := range o.Groups {
		if g := &o.Groups[i]; g.Name != "" {
			own := named[label][g.Name]
			g.label, g.current = label, problem.Count(own, (*problem.Pod).Active)
			g.ready = problem.Count(own, func(pod *problem.Pod) bool { return pod.Active() && pod.Ready })
		}
	}
	return o
}

// groupShort returns the verdict on an object with missing, surplus, or unready pods in a group. It checks each group
// separately, because differences can cancel out in a sum.
func groupShort(v *view) *ruling {
	for _, g := range v.Object.Groups {
		switch {
		case g.label != "" && g.current < g.Pods:
			return v.progressing(problem.CodePodsMissing, "group %s: %d of %d pods ready, %d not yet created",
				g.Name, g.ready, g.Pods, g.Pods-g.current)
		case g.label != "" && g.current > g.Pods:
			return v.progressing(problem.CodePodsSurplus, "group %s: %s, %d too many",
				g.Name, problem.Quantity(g.current, "pod"), g.current-g.Pods)
		case g.label != "" && g.ready < g.Pods:
			return v.progressing(problem.CodePodsStarting, "group %s: %d of %d pods ready", g.Name, g.ready, g.Pods)
		case g.Ready != nil && *g.Ready < g.Desired && g.Name == "":
			return v.progressing(problem.CodePodsStarting, "%s is %d of %d", g.From, *g.Ready, g.Desired)
		case g.Ready != nil && *g.Ready < g.Desired:
			return v.progressing(problem.CodePodsStarting, "group %s: %d of %d ready in %s", g.Name, *g.Ready, g.Desired, g.From)
		}
	}
	return nil
}

// grouped reports whether all groups are counted individually, so that no sum needs to be compared.
func (o Object) grouped() bool {
	pair := slices.ContainsFunc(o.Groups, func(g Group) bool { return g.Name == "" }) // more precise than a sum
	unknown := slices.ContainsFunc(o.Groups, func(g Group) bool { return g.label == "" && g.Ready == nil })
	return pair || len(o.Groups) > 0 && !unknown
}

// exact reports whether a label identifies the pods of the scaled group.
func (o Object) exact() bool {
	return slices.ContainsFunc(o.Groups, func(g Group) bool { return g.label != "" && g.Path == o.Count })
}

// Bound is a field that limits a count. Value is the minimum or, if Above is set, the maximum.
type Bound struct {
	Path  string
	Value int64
	Above bool
}

// violated describes the first bound that a count violates, or returns "" if there is none.
func violated(all []Bound, count int32) string {
	for _, b := range all {
		if n := int64(count); b.Above && n > b.Value || !b.Above && n < b.Value {
			return fmt.Sprintf("%s is %d", b.Path, b.Value)
		}
	}
	return ""
}

// outOfBounds returns the verdict on an object whose count is out of bounds and has no effect.
func outOfBounds(v *view) *ruling {
	o := v.Object
	asWanted := v.shortfall == nil && o.Desired == o.Wanted && !o.Several
	bound := violated(o.Bounds, o.Wanted)
	if bound == "" || asWanted || o.exact() {
		return nil
	}
	return &ruling{verdict: Progressing, code: problem.CodeCountOutOfBounds, reason: fmt.Sprintf("%s, but its count is %d and %s", v.counts, o.Wanted, bound),
		hint: "set a count within the bounds, or change the bound"}
}

// podsAtZero returns the verdict on an object with pods and a count of zero, which some controllers treat as unset.
func podsAtZero(v *view) *ruling {
	o, live := v.Object, v.report.ActivePods()
	if o.Desired > 0 || o.Total != nil && *o.Total > 0 || live == 0 || o.exact() {
		return nil
	}
	return v.progressing(problem.CodePodsSurplus, "its count is zero, and it has %s", problem.Quantity(live, "pod"))
}

// sorts counts the active pods that the object owns directly, by name prefix, such as "web-worker".
func (o Object) sorts(pods []problem.Pod) map[string]int32 {
	all := map[string]int32{}
	for _, pod := range pods {
		if pod.Owner != o.UID || !pod.Active() {
			continue
		}
		words := strings.Split(pod.Name, "-")
		words = words[:len(words)-1]
		for len(words) > 0 && strings.ContainsAny(words[len(words)-1], "0123456789") {
			words = words[:len(words)-1]
		}
		all[strings.Join(words, "-")]++
	}
	return all
}

// sorted reports whether the most common of several name prefixes has the desired number of pods.
func (v *view) sorted() bool {
	sorts := v.Object.sorts(v.report.Pods)
	return len(sorts) > 1 && slices.Max(slices.Collect(maps.Values(sorts))) == v.Object.Desired
}
