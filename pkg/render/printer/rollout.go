package printer

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// rollout is the way of an object from a change to being ready, as far as
// somebody watched it.
type rollout struct {
	// begun is when the change was made; zero, there was none to see.
	begun time.Time
	// seen is when it was seen first, with so many pods ready: the rate is counted
	// from there.
	seen  time.Time
	ready int32
	// generation is that of the object, and took how long the rollout was; zero,
	// it is under way.
	generation int64
	took       time.Duration
	settled    bool
}

// see takes in the object as it is now.
func (o rollout) see(r status.Report, now time.Time) rollout {
	ready := r.Verdict.Settled()
	fresh := o.seen.IsZero()
	switch {
	case ready && (fresh || o.settled):
		return rollout{seen: now, generation: r.Metadata.Generation, settled: true, took: o.took, begun: o.begun}
	case ready:
		o.settled, o.took = true, now.Sub(o.begun)
		return o
	case fresh:
		return rollout{begun: changed(r, now), seen: now, ready: readyNow(r), generation: r.Metadata.Generation}
	case o.settled || o.generation != r.Metadata.Generation:
		return rollout{begun: now, seen: now, ready: readyNow(r), generation: r.Metadata.Generation}
	}
	return o
}

// changed is when an object that is not ready changed last: when its spec was
// written, or when its controller saw that it was not ready any more.
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

// text says how long it has taken and how fast it is, "" if there was none.
func (o rollout) text(ready int32, now time.Time) string {
	switch {
	case o.begun.IsZero():
		return ""
	case o.settled:
		return "took " + duration.HumanDuration(o.took)
	}
	text := age(o.begun, now)
	if gained, watched := ready-o.ready, now.Sub(o.seen); gained > 0 && watched >= time.Second {
		text += fmt.Sprintf("  %.1f/s", float64(gained)/watched.Seconds())
	}
	return text
}

// readyNow is how many pods are ready: as the object tells or, while it is not
// ready, as the pods below it show, which may be ahead of what it tells.
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
