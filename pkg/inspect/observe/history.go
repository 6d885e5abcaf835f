package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// history summarizes earlier observations of a target. A new UID or generation resets all fields but pods and counted.
type history struct {
	first        *status.Snapshot
	acted, below bool
	// pods contains the UIDs of all pods that the target has owned. It is set only if neither run-controller nor
	// Kubernetes itself reconciles the target.
	pods    map[types.UID]bool
	live    int32 // the number of active pods in the first observation of pods, or -1 before that observation
	counted bool  // the count was written just before the wait
}

// add records a snapshot, and sets its fields Acted, ActedBelow, Since, and Counted.
func (h *history) add(s *status.Snapshot) {
	if h.first == nil || h.first.Object.UID != s.Object.UID || h.first.Object.Generation != s.Object.Generation {
		first := *s
		first.Pods, first.Events = nil, nil // these fields are not compared
		*h = history{first: &first, pods: h.pods, live: -1, counted: h.counted}
	}
	if s.Object.Foreign && !s.Object.BuiltIn && s.Pods != nil {
		h.addPods(s)
	}
	acts, below := acted(*h.first, *s)
	h.acted, h.below = h.acted || acts, h.below || below
	s.Acted, s.ActedBelow, s.Since, s.Counted = h.acted, h.below, h.first.Now, h.counted
}

// addPods records the pods in a snapshot, and whether the number of active pods has changed.
func (h *history) addPods(s *status.Snapshot) {
	if h.pods == nil {
		h.pods = map[types.UID]bool{}
	}
	for _, pod := range s.Pods {
		h.pods[pod.UID] = true
	}
	live := problem.Count(s.Pods, (*problem.Pod).Active)
	if h.live < 0 {
		h.live = live
	}
	h.below = h.below || live != h.live
}

// acted reports whether the controller of an object has written anything between two snapshots of the
// same generation. below reports whether a direct child was created or changed.
func acted(before, now status.Snapshot) (acts, below bool) {
	o, was := now.Object, before.Object
	known := map[types.UID]int64{}
	for _, c := range before.Children {
		known[c.UID] = c.Generation
	}
	below = slices.ContainsFunc(now.Children, func(c status.Child) bool {
		generation, old := known[c.UID]
		return c.Controller == o.UID && (!old || c.Generation > generation)
	})
	_, written := fieldpath.LastWrites(o.Managers)
	_, last := fieldpath.LastWrites(was.Managers)
	wrote := written != nil && (last == nil || written.Time.After(last.Time.Time))
	counted := o.Current != was.Current || o.Ready != was.Ready
	said := o.Word.Phase != was.Word.Phase || o.Word.Message != was.Word.Message || len(o.Conditions) != len(was.Conditions)
	return below || wrote || counted || said, below
}
