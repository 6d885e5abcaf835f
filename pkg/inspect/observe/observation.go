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

// Observation is a target at one time.
type Observation struct {
	// Target has the observed object, nil if it does not exist.
	Target
	// Report is the report on it, even if the object does not exist.
	Report status.Report
	// Pods include the pods of the object.
	Pods problem.Pods
	// Met reports whether it meets all conditions of a wait.
	Met bool
	// Partial means that events or nodes, which may explain it, are still being read.
	Partial bool
	At      time.Time
	// GivesUp is when the wait for a failed object ends; zero if it does not.
	GivesUp time.Time

	// whole looks again and waits for what a partial look lacks.
	whole func(context.Context) (status.Report, error)
}

// differs reports whether two observations look different to a person.
func (s Observation) differs(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.Reason != o.Reason || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// turned reports whether two observations differ in more than time.
func (s Observation) turned(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.ReasonCode != o.ReasonCode || s.Partial != other.Partial && r.Reason != o.Reason || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// State describes the target.
func (s Observation) State() string {
	if s.Report.ReasonCode == problem.CodeDeleted {
		return escape.Line(s.Report.Reason)
	}
	return escape.Line(fmt.Sprintf("%s: %s", s.Report.Verdict, s.Report.Reason))
}
