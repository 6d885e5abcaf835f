package printer

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// rollout is the observed progress of an object from a change until it is ready.
type rollout struct {
	// begun is when the change was made, zero if none was seen.
	begun time.Time
	// seen is when the change was first seen, with ready pods. The rate starts there. now is how
	// many are ready since then.
	seen       time.Time
	ready, now int32
	// generation is the generation of the object. took is how long the rollout took.
	generation int64
	took       time.Duration
	settled    bool
}

func (o rollout) see(r status.Report, now time.Time) rollout {
	ready := r.Verdict.Settled()
	o.now = readyNow(r)
	fresh := o.seen.IsZero()
	switch {
	case ready && (fresh || o.settled):
		return rollout{seen: now, generation: r.Metadata.Generation, settled: true, took: o.took, begun: o.begun}
	case ready:
		o.settled, o.took = true, now.Sub(o.begun)
		return o
	case fresh:
		return rollout{begun: changed(r, now), seen: now, ready: o.now, now: o.now, generation: r.Metadata.Generation}
	case o.settled || o.generation != r.Metadata.Generation:
		return rollout{begun: now, seen: now, ready: o.now, now: o.now, generation: r.Metadata.Generation}
	}
	return o
}

// changed returns when an object that is not ready last changed: when its spec was written,
// or when its controller noticed that it was no longer ready.
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

// text describes how long the rollout takes and how fast it is. It is empty without a
// rollout.
func (o rollout) text(now time.Time) string {
	switch {
	case o.begun.IsZero():
		return ""
	case o.settled:
		return "took " + duration.HumanDuration(o.took)
	}
	return age(o.begun, now) + o.rate(now)
}

// rate returns how many pods become ready in a second, after a moment in which some do.
func (o rollout) rate(now time.Time) string {
	if gained, watched := o.now-o.ready, now.Sub(o.seen); gained > 0 && watched >= time.Second && !o.settled {
		return fmt.Sprintf("  %.1f/s", float64(gained)/watched.Seconds())
	}
	return ""
}

// readyNow returns the number of ready pods from the status. While the object is not ready,
// it counts the pods, which may be ahead of the status.
func readyNow(r status.Report) int32 {
	ready := int32(0)
	for _, pod := range r.Pods {
		if pod.Ready {
			ready++
		}
	}
	if r.Verdict.Settled() || len(r.Pods) == 0 || len(r.Pods) < int(max(r.Replicas.Current, r.Replicas.Ready)) {
		return r.Replicas.Ready
	}
	return ready
}
