package observe

import "github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"

// history has the earlier looks at a target since the last change of its spec.
type history struct {
	first        *status.Snapshot
	acted, below bool
	// counted means that the wait is for a count that was just written.
	counted bool
}

// add adds a look, and sets on it whether the controller has written since the first one.
func (s *history) add(e *status.Snapshot) {
	if s.first == nil || s.first.Object.UID != e.Object.UID || s.first.Object.Generation != e.Object.Generation {
		first := *e
		first.Pods, first.Events = nil, nil // not compared
		*s = history{first: &first, counted: s.counted}
	}
	s.acted = s.acted || status.Acted(*s.first, *e)
	s.below = s.below || status.ActedBelow(*s.first, *e)
	e.Acted, e.ActedBelow, e.Since, e.Counted = s.acted, s.below, s.first.Now, s.counted
}
