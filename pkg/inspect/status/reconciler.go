package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Reconciler describes the controller of an object, based on the last writes of the spec and status, and on
// the leases of run-controllers, which are processes of the "run-controller" command.
type Reconciler struct {
	// Loops lists up to ten run-controllers for the object, live ones first, or none if the leases were not listed.
	Loops []Loop `json:"loops,omitempty"`
	// Status and Spec are the last writes of the object's status and spec.
	Status *fieldpath.Write `json:"status,omitempty"`
	Spec   *fieldpath.Write `json:"spec,omitempty"`
}

// Loop is a run-controller in a report.
type Loop struct {
	Who     string      `json:"who"`   // the user and the host of the run-controller, and when it started
	Scope   string      `json:"scope"` // describes what the run-controller reconciles
	Live    bool        `json:"live"`
	Renewed metav1.Time `json:"renewed,omitzero"`
}

// recently is how long the writer of a status is considered alive after a write, even without a lease.
const recently = time.Minute

// mostLoops is the maximum number of run-controllers in a report. Anyone who can create leases can create many.
const mostLoops = 10

func reconcilerOf(s Snapshot) Reconciler {
	var r Reconciler
	o := s.Object
	r.Spec, r.Status = fieldpath.LastWrites(o.Managers)
	latestFirst := slices.SortedStableFunc(slices.Values(s.Loops), func(a, b leaserecord.Loop) int {
		return b.Renewed.Compare(a.Renewed)
	})
	for _, live := range []bool{true, false} {
		for _, loop := range latestFirst {
			if loop.Holder != "" && loop.Live(s.Now) == live && len(r.Loops) < mostLoops &&
				loop.Scope.Covers(o.Namespace, o.Resource, o.Labels) {
				renewed := metav1.NewTime(loop.Renewed)
				r.Loops = append(r.Loops, Loop{Who: loop.String(), Scope: loop.Scope.String(), Live: live, Renewed: renewed})
			}
		}
	}
	return r
}

// liveLoop returns a run-controller that is running for the object, or nil.
func (r Reconciler) liveLoop() *Loop {
	if len(r.Loops) > 0 && r.Loops[0].Live {
		return &r.Loops[0]
	}
	return nil
}

// active reports whether a run-controller is running for the object, or the status was written within the given time.
func (r Reconciler) active(within time.Duration, now time.Time) bool {
	return r.liveLoop() != nil || r.Status != nil && now.Sub(r.Status.Time.Time) < within
}

// unanswered explains why the status does not show whether the controller has seen a change.
func (r Reconciler) unanswered() string {
	switch {
	case r.Status == nil:
		return "its status has no observedGeneration, and has never been written"
	case r.Spec == nil:
		return "its status has no observedGeneration, and the time of the change is unknown"
	case r.Status.Time.Equal(&r.Spec.Time):
		return "its status has no observedGeneration, and was written in the same second as the change"
	}
	return "its status has no observedGeneration, and was last written before the change"
}

// story describes the last write of the status and, if it is known, whether a run-controller is running.
func (v *view) story() string {
	by := v.report.Reconciler
	text := "its status has never been written"
	if w := by.Status; w != nil {
		text = fmt.Sprintf("its status was last written by %s %s ago", w.Manager, duration.HumanDuration(v.Now.Sub(w.Time.Time)))
	}
	loop := by.liveLoop()
	switch {
	case v.Loops == nil:
		return text
	case loop != nil:
		return text + "; a controller is running: " + loop.Who
	}
	return text + "; no controller is running for it"
}

// controllerHint returns an instruction or a command for a user whose object waits for its controller.
func (v *view) controllerHint() string {
	o := v.Object
	if o.Foreign {
		return "check that the controller of " + o.Resource + " is installed and running"
	}
	if loop := v.report.Reconciler.liveLoop(); loop != nil {
		return "check the log of the controller: " + loop.Who
	}
	run := commandline.Plugin("run-controller").In(o.Namespace)
	if !leaserecord.Ships(o.Resource) {
		run = run.With("--kinds", o.Resource)
	}
	return v.Commands.Line(run)
}
