package printer

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// rollout is the observed progress of an object from a change until the object is ready.
type rollout struct {
	// begun is when the change was made, or zero if no change was seen. ended is when the object became
	// ready, or zero if it is not ready.
	begun, ended time.Time
	// seen is when the change was first seen. ready is the number of ready pods then, and now is the latest number.
	seen       time.Time
	ready, now int32
	generation int64 // of the object
}

func (r rollout) see(report status.Report, now time.Time) rollout {
	begun := now
	switch {
	case report.Verdict.Settled():
		return rollout{begun: r.begun, ended: cmp.Or(r.ended, now), seen: cmp.Or(r.seen, now)}
	case r.seen.IsZero():
		begun = changed(report, now)
	case r.ended.IsZero() && r.generation == report.Metadata.Generation:
		r.now = readyNow(report)
		return r
	}
	ready := readyNow(report)
	return rollout{begun: begun, seen: now, ready: ready, now: ready, generation: report.Metadata.Generation}
}

// changed returns the time of the last change of an object that is not ready. This is the last write of the spec or the
// last transition to Ready=False, whichever is later. If this time is unknown or in the future, changed returns now.
func changed(r status.Report, now time.Time) time.Time {
	last := time.Time{}
	if spec := r.Reconciler.Spec; spec != nil {
		last = spec.Time.Time
	}
	for _, c := range r.Conditions {
		if c.Type == "Ready" && c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	if last.IsZero() || last.After(now) {
		return now
	}
	return last
}

// text formats the duration and the rate of the rollout, or returns "" if there is no rollout.
func (r rollout) text(now time.Time) string {
	switch {
	case r.begun.IsZero():
		return ""
	case !r.ended.IsZero():
		return "took " + duration.HumanDuration(r.ended.Sub(r.begun))
	}
	return trimmed(age(r.begun, now) + "  " + r.rate(now))
}

// rate formats the number of pods that became ready per second after the change was first seen. It returns "" in the
// first second, if no more pods are ready, or if the rollout has ended.
func (r rollout) rate(now time.Time) string {
	if gained, watched := r.now-r.ready, now.Sub(r.seen); gained > 0 && watched >= time.Second && r.ended.IsZero() {
		return fmt.Sprintf("%.1f/s", float64(gained)/watched.Seconds())
	}
	return ""
}

// readyNow returns the number of ready pods. If the object is ready or parked, or if some pods are unknown, it uses the
// status. Otherwise, it counts the pods, because the status may be outdated.
func readyNow(r status.Report) int32 {
	if r.Verdict.Settled() || len(r.Pods) == 0 || len(r.Pods) < int(max(r.Replicas.Current, r.Replicas.Ready)) {
		return r.Replicas.Ready
	}
	return r.ReadyPods()
}
