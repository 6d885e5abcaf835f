package observe

import "github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"

// history is what earlier looks at a target have shown since the last change of its spec.
type history struct {
	first        *status.Snapshot
	acted, below bool
	// counted says that a wait is for a count that was just written.
	counted bool
}

// add adds a look, and notes on it whether the controller has written since the first one.
func (s *history) add(e *status.Snapshot) {
	if s.first == nil || s.first.Object.UID != e.Object.UID || s.first.Object.Generation != e.Object.Generation {
		first := *e
		first.Pods, first.Events = nil, nil // which nothing is compared with
		*s = history{first: &first, counted: s.counted}
	}
	s.acted = s.acted || status.Acted(*s.first, *e)
	s.below = s.below || status.ActedBelow(*s.first, *e)
	e.Acted, e.ActedBelow, e.Since, e.Counted = s.acted, s.below, s.first.Now, s.counted
}
