// Package expectations is what the loop remembers of objects between reconciles, and
// what it expects to see of its own writes: each subject a type with its own lock.
package expectations

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Key names an object that is reconciled.
type Key struct {
	Kind            string // plural.group
	Namespace, Name string
}

// Expectations are those of all subjects. All of it can be lost: a new loop starts
// with none.
type Expectations struct {
	Objects  *States
	Refused  *Refusals
	Waiting  *Waits
	Statuses *Statuses
}

// New makes expectations of nothing.
func New() *Expectations {
	return &Expectations{
		Objects: &States{of: map[Key]*State{}},
		Refused: &Refusals{lifted: map[Key]bool{}}, Waiting: &Waits{of: map[Key]bool{}},
		Statuses: &Statuses{of: map[Key][]statusHash{}},
	}
}

// Forget drops what is known of an object that is gone.
func (e *Expectations) Forget(k Key) {
	e.Objects.forget(k)
	e.Refused.Set(k, false)
	e.Waiting.Set(k, false)
	e.Statuses.forget(k)
}

// State is what the loop remembers of one object between reconciles. Only
// the worker that holds the object's key touches it.
type State struct {
	UID  types.UID
	Plan plan.Memory
	// PodsWritten and OwnerWritten are the highest resourceVersions that this loop's
	// own writes of them were answered with, BesideWritten those of what the plans of
	// a strategy look at beside pods, nil for none.
	PodsWritten, OwnerWritten string
	BesideWritten             map[kinds.Strategy]string
	// RevisionsWritten is the same for revisions.
	RevisionsWritten string
	// Unanswered are the names of the pods that may have been created: the creates were not
	// answered.
	Unanswered []string
	// Created and Deleted count the pods since the last event that told of them.
	Created, Deleted int
	// Failing is for how many plans in a row the server failed over a create.
	Failing int
	// FailingRevision is the same for a revision. Unrecorded says that the last one was
	// refused, and that this was told.
	FailingRevision int
	Unrecorded      bool
	// NameTaken is the last word on who has the name of the Deployment.
	NameTaken string
	// Pause is what was last said of a pause of the object, nil before the first look.
	Pause *string
	// lastLine is the last line that was logged of it, failures the reasons for which
	// pods fail that were logged since something was last done for it.
	lastLine string
	failures map[string]bool
}

// WroteBeside notes the highest resourceVersion of what the plans of a strategy look at
// beside pods.
func (s *State) WroteBeside(name kinds.Strategy, version string) {
	if s.BesideWritten == nil {
		s.BesideWritten = map[kinds.Strategy]string{} // most objects have none
	}
	s.BesideWritten[name] = version
}

// States are those of all objects.
type States struct {
	mu sync.Mutex
	of map[Key]*State
}

// Get returns the state of an object, a fresh one if another object had its name.
func (s *States) Get(k Key, uid types.UID) *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	if r == nil || r.UID != uid {
		r = &State{UID: uid}
		s.of[k] = r
	}
	return r
}

// Repeated reports whether a line was the last one said of an object, and notes it.
func (s *States) Repeated(k Key, line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	if r == nil {
		return false
	}
	before := r.lastLine
	r.lastLine = line
	return before == line
}

// NewFailure reports whether the reason for which pods of an object fail is one that
// was not logged yet. Nothing is new of an object that was not yet reconciled.
func (s *States) NewFailure(k Key, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	return r != nil && !r.failures[reason]
}

// LogFailure notes a reason, and reports whether it is new.
func (s *States) LogFailure(k Key, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	if r == nil || r.failures[reason] {
		return false
	}
	if r.failures == nil {
		r.failures = map[string]bool{}
	}
	r.failures[reason] = true
	return true
}

// Retried drops the reasons: something was done for the object, or it is ready.
func (s *States) Retried(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.of[k]; r != nil {
		r.failures = nil
	}
}

func (s *States) forget(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
}
