package observe

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// history summarizes the earlier observations of a target. A new UID or generation resets all fields except
// pods and counted.
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
func (s *history) add(e *status.Snapshot) {
	if s.first == nil || s.first.Object.UID != e.Object.UID || s.first.Object.Generation != e.Object.Generation {
		first := *e
		first.Pods, first.Events = nil, nil // these fields are not compared
		*s = history{first: &first, pods: s.pods, live: -1, counted: s.counted}
	}
	if e.Object.Foreign && !e.Object.BuiltIn && e.Pods != nil {
		s.addPods(e)
	}
	acted, below := status.Acted(*s.first, *e)
	s.acted, s.below = s.acted || acted, s.below || below
	e.Acted, e.ActedBelow, e.Since, e.Counted = s.acted, s.below, s.first.Now, s.counted
}

// addPods records the pods in a snapshot, and whether the number of active pods has changed.
func (s *history) addPods(e *status.Snapshot) {
	if s.pods == nil {
		s.pods = map[types.UID]bool{}
	}
	for _, pod := range e.Pods {
		s.pods[pod.UID] = true
	}
	live := problem.Count(e.Pods, (*problem.Pod).Active)
	if s.live < 0 {
		s.live = live
	}
	s.below = s.below || live != s.live
}
