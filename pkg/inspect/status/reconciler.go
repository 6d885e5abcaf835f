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

// Reconciler is what is known about the controller of an object.
type Reconciler struct {
	// Loops are the run-controllers that cover the object, live ones first. Absent: they
	// were not searched for.
	Loops []LoopSeen `json:"loops,omitempty"`
	// Status is the last write of the object's status. Spec is the last write of anything else.
	Status *fieldpath.Write `json:"status,omitempty"`
	Spec   *fieldpath.Write `json:"spec,omitempty"`
}

// LoopSeen is a run-controller in a report.
type LoopSeen struct {
	// Who says who runs it, where, and since when.
	Who string `json:"who"`
	// Scope says what it reconciles.
	Scope   string      `json:"scope"`
	Live    bool        `json:"live"`
	Renewed metav1.Time `json:"renewed,omitzero"`
}

// recently is how old the last write of a status may be if its writer counts as alive,
// whatever the leases say.
const recently = time.Minute

// newReconciler finds out who reconciles an object.
func newReconciler(e Snapshot) Reconciler {
	o, r := e.Object, Reconciler{}
	r.Spec, r.Status = fieldpath.LastWrites(o.Managers)
	for _, loop := range e.Loops {
		if loop.Holder != "" && loop.Scope.Covers(o.Namespace, o.Resource, o.Labels) {
			r.Loops = append(r.Loops, LoopSeen{
				Who: loop.String(), Scope: loop.Scope.String(), Live: loop.Live(e.Now), Renewed: metav1.NewTime(loop.Renewed),
			})
		}
	}
	slices.SortStableFunc(r.Loops, func(a, b LoopSeen) int {
		switch {
		case a.Live && !b.Live:
			return -1
		case b.Live && !a.Live:
			return 1
		}
		return b.Renewed.Compare(a.Renewed.Time)
	})
	return r
}

// liveLoop returns the run-controller that works on the object.
func (r Reconciler) liveLoop() (LoopSeen, bool) {
	if len(r.Loops) > 0 && r.Loops[0].Live {
		return r.Loops[0], true
	}
	return LoopSeen{}, false
}

// active reports whether a controller is running for the object, or wrote its status just
// now.
func (r Reconciler) active(e Snapshot) bool {
	if _, lives := r.liveLoop(); lives {
		return true
	}
	return r.Status != nil && e.Now.Sub(r.Status.Time.Time) < noticedWithin
}

// silent reports whether no one reconciles an object that a run-controller should: none
// is running, and none has written the status in the last minute.
func (r Reconciler) silent(e Snapshot) bool {
	if _, lives := r.liveLoop(); lives || e.Object.Foreign || e.Loops == nil {
		return false
	}
	return r.Status == nil || e.Now.Sub(r.Status.Time.Time) > recently
}

// story says who wrote the status last, and who is running.
func (r Reconciler) story(e Snapshot) string {
	told := "its status has never been written"
	if w := r.Status; w != nil {
		told = fmt.Sprintf("its status was last written by %s %s ago", w.Manager, duration.HumanDuration(e.Now.Sub(w.Time.Time)))
	}
	if e.Object.Foreign || e.Loops == nil {
		return told
	}
	if loop, lives := r.liveLoop(); lives {
		return told + "; a controller is running: " + loop.Who
	}
	return told + "; no controller is running for it"
}

// unanswered says why there is no sign that a change was seen.
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

// howToReconcile returns the hint for an object that waits for its controller.
func (r Reconciler) howToReconcile(e Snapshot) string {
	o := e.Object
	if o.Foreign {
		return "check that the controller of " + o.Resource + " is installed and running"
	}
	if loop, lives := r.liveLoop(); lives {
		return "check the log of the controller: " + loop.Who
	}
	run := commandline.Plugin("run-controller").In(o.Namespace)
	if !leaserecord.Ships(o.Resource) {
		run = run.With("--kinds", o.Resource)
	}
	return e.Commands.Line(run)
}
