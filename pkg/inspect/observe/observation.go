package observe

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Observation is the state of a target at one time.
type Observation struct {
	// Target.Object is the observed object, or nil if it does not exist.
	Target
	// Report is set even if the object does not exist.
	Report status.Report
	// Met is true if the last condition of a wait has remained met for Limits.Settle.
	Met bool
	// Partial means that events or nodes, which can explain the verdict, are still being read.
	Partial bool
	At      time.Time
	// GivesUp is when the wait gives up if the object keeps failing, or zero if no grace period is running.
	GivesUp time.Time

	// from can repeat a partial observation.
	from *model
}

// differs reports whether a user sees a difference between two observations.
func (o Observation) differs(other Observation) bool {
	r, last := o.Report, other.Report
	return r.Verdict != last.Verdict || r.Reason != last.Reason || !equality.Semantic.DeepEqual(r.Replicas, last.Replicas)
}

// turned is like differs, but compares the code of the reason instead of the text, because the text can contain
// durations. If only one of the observations is partial, turned also compares the text.
func (o Observation) turned(other Observation) bool {
	r, last := o.Report, other.Report
	return r.Verdict != last.Verdict || r.ReasonCode != last.ReasonCode || o.Partial != other.Partial && r.Reason != last.Reason || !equality.Semantic.DeepEqual(r.Replicas, last.Replicas)
}

// State returns the verdict and its reason or, for an object that does not exist, only the reason.
func (o Observation) State() string {
	if o.Report.ReasonCode == problem.CodeDeleted {
		return escape.Line(o.Report.Reason)
	}
	return escape.Line(fmt.Sprintf("%s: %s", o.Report.Verdict, o.Report.Reason))
}
