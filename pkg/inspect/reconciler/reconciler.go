// Package reconciler describes the controller of an object, based on the last writes of the spec and status,
// and on the leases of run-controllers, which are processes of the "run-controller" command.
package reconciler

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

// Reconciler describes the controller of an object.
type Reconciler struct {
	// Loops lists at most ten run-controllers whose scope includes the object, live ones first. It is empty if
	// searched is false.
	Loops []Loop `json:"loops,omitempty"`
	// Status and Spec are the last writes of the object's status and spec.
	Status *fieldpath.Write `json:"status,omitempty"`
	Spec   *fieldpath.Write `json:"spec,omitempty"`

	of       Object
	searched bool // the leases of run-controllers were listed
}

// Object describes the state of an object at the time Now.
type Object struct {
	Namespace, Resource string
	Labels              map[string]string
	Foreign             bool // another program's controller reconciles the object
	Managers            []metav1.ManagedFieldsEntry
	Now                 time.Time
	Commands            commandline.Context // formats the commands in hints
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

// New finds the controller of an object. loops is nil if the leases were not listed.
func New(of Object, loops []leaserecord.Loop) Reconciler {
	r := Reconciler{of: of, searched: loops != nil}
	r.Spec, r.Status = fieldpath.LastWrites(of.Managers)
	covering := slices.DeleteFunc(slices.Clone(loops), func(loop leaserecord.Loop) bool {
		return loop.Holder == "" || !loop.Scope.Covers(of.Namespace, of.Resource, of.Labels)
	})
	slices.SortStableFunc(covering, func(a, b leaserecord.Loop) int {
		switch live := a.Live(of.Now); {
		case live == b.Live(of.Now):
			return b.Renewed.Compare(a.Renewed)
		case live:
			return -1
		}
		return 1
	})
	for _, loop := range covering[:min(len(covering), mostLoops)] {
		r.Loops = append(r.Loops, Loop{
			Who: loop.String(), Scope: loop.Scope.String(), Live: loop.Live(of.Now), Renewed: metav1.NewTime(loop.Renewed),
		})
	}
	return r
}

func (r Reconciler) liveLoop() (Loop, bool) {
	if len(r.Loops) > 0 && r.Loops[0].Live {
		return r.Loops[0], true
	}
	return Loop{}, false
}

// Active reports whether a run-controller is running for the object, or whether a controller wrote the status
// less than the given duration ago.
func (r Reconciler) Active(within time.Duration) bool {
	if _, lives := r.liveLoop(); lives {
		return true
	}
	return r.Status != nil && r.of.Now.Sub(r.Status.Time.Time) < within
}

// Silent reports whether the object needs a run-controller but has none, and its status was not written in
// the last minute. It returns false if the leases were not listed.
func (r Reconciler) Silent() bool {
	if _, lives := r.liveLoop(); lives || r.of.Foreign || !r.searched {
		return false
	}
	return r.Status == nil || r.of.Now.Sub(r.Status.Time.Time) > recently
}

// Story describes the last write of the status and, if it is known, whether a run-controller is running.
func (r Reconciler) Story() string {
	text := "its status has never been written"
	if w := r.Status; w != nil {
		text = fmt.Sprintf("its status was last written by %s %s ago", w.Manager, duration.HumanDuration(r.of.Now.Sub(w.Time.Time)))
	}
	if r.of.Foreign || !r.searched {
		return text
	}
	if loop, lives := r.liveLoop(); lives {
		return text + "; a controller is running: " + loop.Who
	}
	return text + "; no controller is running for it"
}

// Unanswered explains why the status does not show whether the controller has seen a change.
func (r Reconciler) Unanswered() string {
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

// Hint returns an instruction or a command for a user whose object waits for its controller.
func (r Reconciler) Hint() string {
	of := r.of
	if of.Foreign {
		return "check that the controller of " + of.Resource + " is installed and running"
	}
	if loop, lives := r.liveLoop(); lives {
		return "check the log of the controller: " + loop.Who
	}
	run := commandline.Plugin("run-controller").In(of.Namespace)
	if !leaserecord.Ships(of.Resource) {
		run = run.With("--kinds", of.Resource)
	}
	return of.Commands.Line(run)
}
