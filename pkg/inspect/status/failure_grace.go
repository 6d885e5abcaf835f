package status

import "time"

// FailureGrace decides when a wait for an object that will not become ready without
// help is over. Its zero value fails at once; a copy is a new one.
type FailureGrace struct {
	// For is how long an object may have failed, without a break, in case that
	// help comes or it was a passing thing after all.
	For time.Duration
	// Endless grace fails never.
	Endless bool

	failed time.Time
}

// Look reports whether the grace of an object is over at a time. Otherwise it returns
// when to look again even if nothing changes, or zero if that makes no difference.
func (p *FailureGrace) Look(r Report, now time.Time) (over bool, again time.Duration) {
	if p.Endless || r.Verdict != Failed {
		p.failed = time.Time{}
		return false, 0
	}
	if p.failed.IsZero() {
		p.failed = now
	}
	left := p.For - now.Sub(p.failed)
	return left <= 0, max(left, 0)
}
