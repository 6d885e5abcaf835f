package observe

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Observation is a target as it was seen at a time.
type Observation struct {
	// Target has the object that was seen, nil if there is none.
	Target
	// Report is the report on it, also if there is none.
	Report status.Report
	// Pods are pods among which its own are.
	Pods status.Pods
	// Met says that it meets all conditions of a wait.
	Met bool
	// Partial says that events or nodes are still being read, which may explain it.
	Partial bool
	At      time.Time
	// GivesUp is when a wait ends because the object has failed; zero, it does not.
	GivesUp time.Time

	// whole looks again, and waits for all that a partial look lacks.
	whole func(context.Context) (status.Report, error)
}

// differs reports whether a person sees a difference between two observations.
func (s Observation) differs(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.Reason != o.Reason || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// turned reports whether two observations differ in more than the time that has passed.
func (s Observation) turned(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.ReasonCode != o.ReasonCode || s.Partial != other.Partial || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// State describes the target.
func (s Observation) State() string {
	if s.Report.ReasonCode == problem.CodeDeleted {
		return escape.Line(s.Report.Reason)
	}
	return escape.Line(fmt.Sprintf("%s: %s", s.Report.Verdict, s.Report.Reason))
}
