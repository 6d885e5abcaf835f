package logs

import (
	"hash/maphash"
	"time"
)

// remembered is how many of the last lines of a container are known again.
const remembered = 256

// resume knows the last lines of a container that were read, so that the log can be
// taken up again: the server tells only from which second on, and two streams of a
// container may write lines whose times are not quite in order.
type resume struct {
	seed maphash.Seed
	last []seen // at most remembered, the oldest at next
	next int
	// newest is the time of the newest line.
	newest time.Time
}

// seen is a line that was read.
type seen struct {
	at   time.Time
	text uint64
	// again says that it was met again since the log was taken up.
	again bool
}

func newResume() *resume { return &resume{seed: maphash.MakeSeed()} }

// begin notes that the log is taken up, and returns from when on; zero, from its
// beginning.
func (r *resume) begin() time.Time {
	for i := range r.last {
		r.last[i].again = false
	}
	return r.newest.Truncate(time.Second)
}

// isNew takes in a line, and reports whether it was not read before. resumed says
// that the log was taken up, so that lines come again.
func (r *resume) isNew(line Line, resumed bool) bool {
	if line.Time.IsZero() {
		// The kubelet says why there is no log, or no more of it. Of a log that was read
		// before, that is no news: it is removed with its pod.
		return !resumed
	}
	text := maphash.String(r.seed, line.Text)
	if resumed && r.known(line.Time, text) {
		return false
	}
	s := seen{at: line.Time, text: text, again: true}
	if len(r.last) < remembered {
		r.last = append(r.last, s)
	} else {
		r.last[r.next] = s
		r.next = (r.next + 1) % remembered
	}
	if line.Time.After(r.newest) {
		r.newest = line.Time
	}
	return true
}

// known reports whether a line was read before. A line that was written twice at the
// same time is known twice.
func (r *resume) known(at time.Time, text uint64) bool {
	if at.After(r.newest) || len(r.last) == 0 {
		return false
	}
	for i := range r.last {
		if s := &r.last[i]; !s.again && s.text == text && s.at.Equal(at) {
			s.again = true
			return true
		}
	}
	// What is older than all that is remembered was read before it, or was not asked
	// for: the log was read from its last lines on.
	oldest := r.last[r.next%len(r.last)]
	return at.Before(oldest.at) || at.Equal(oldest.at) && len(r.last) == remembered
}
