// Package grace decides when to give up waiting for a failing object.
package grace

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Period is how long a wait tolerates a failing object. With the zero value, the wait gives up immediately.
type Period struct {
	For     time.Duration // how long an object may fail before the wait gives up
	Endless bool          // the wait never gives up on a failing object

	failed time.Time
	// cause is why pods fail, with the generation and the number of ready pods at the first failure.
	// If a controller replaces the failing pods, the same failure continues until more pods become ready.
	cause cause
	// pods contains the UIDs of the pods that have failed for this cause.
	pods map[types.UID]bool
}

type cause struct {
	container  string
	code       problem.Code
	generation int64
	ready      int32
}

// causeOf returns why pods of an object fail, and the UIDs of these pods. If no pods fail, c has no code.
func causeOf(r status.Report) (c cause, pods []types.UID) {
	i := slices.IndexFunc(r.Problems, func(p problem.Problem) bool { return len(p.Pods) > 0 && (p.Fatal || p.Crash()) })
	if i < 0 {
		return c, nil
	}
	p := r.Problems[i]
	for _, pod := range r.Pods {
		if slices.Contains(p.Pods, pod.Name) {
			pods = append(pods, pod.UID)
		}
	}
	return cause{p.Container, p.Code, r.Metadata.Generation, r.Replicas.Ready}, pods
}

// lasts reports whether c still applies, given a later report and the cause in that report.
func (c cause) lasts(later cause, r status.Report) bool {
	same := later.code == "" || later.code == c.code && later.container == c.container
	return c.code != "" && same && c.generation == r.Metadata.Generation && r.Replicas.Ready <= c.ready && !r.Verdict.Settled()
}

// Look reports whether the period is over, given a report and the current time. If it is not over, again is
// the delay after which Look must be called even if nothing changes, or zero if no such call is needed.
func (p *Period) Look(r status.Report, now time.Time) (over bool, again time.Duration) {
	later, pods := causeOf(r)
	present, replaced := false, false
	for uid := range p.pods {
		is := slices.ContainsFunc(r.Pods, func(pod problem.Pod) bool { return pod.UID == uid })
		present, replaced = present || is, replaced || !is
	}
	recovered := present && later.code == ""
	if lasts := p.cause.lasts(later, r) && !recovered; !lasts && (r.Verdict != status.Failed || p.cause.code != "" || later.code != "") {
		p.failed, p.cause, p.pods, replaced = time.Time{}, later, map[types.UID]bool{}, false
	}
	for _, uid := range pods {
		p.pods[uid] = true
	}
	if p.failed.IsZero() && (r.Verdict == status.Failed || later.code != "") {
		p.failed = now
	}
	if fails := r.Verdict == status.Failed || replaced && later.code != ""; p.Endless || !fails {
		return false, 0
	}
	left := p.For - now.Sub(p.failed)
	return left <= 0, max(left, 0)
}
