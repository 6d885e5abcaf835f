package logs

import (
	"hash/maphash"
	"time"
)

// remembered is how many of the last lines of a container are remembered.
const remembered = 256

// resume remembers the last lines of a container, so that its log can be opened again without
// repeating them: the server begins at a whole second, and the times of the two streams of a
// container may not be quite in order.
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
	// again says that it came again since the log was opened again.
	again bool
}

func newResume() *resume { return &resume{seed: maphash.MakeSeed()} }

// begin records that the log is opened again, and returns the start time; zero means the
// beginning.
func (r *resume) begin() time.Time {
	for i := range r.last {
		r.last[i].again = false
	}
	return r.newest.Truncate(time.Second)
}

// isNew remembers a line, and reports whether it is new. resumed says that the log was opened
// again, so that lines may be repeated.
func (r *resume) isNew(line Line, resumed bool) bool {
	if line.Time.IsZero() {
		// The kubelet reports that there is no log, or that it has ended. That is normal for a
		// log that was read before: it is removed with its pod.
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

// known reports whether a line was read before. A line that was written twice at the same time
// may be repeated twice.
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
	// A line older than all remembered ones was read before, or was not requested because only
	// the last lines were.
	oldest := r.last[r.next%len(r.last)]
	return at.Before(oldest.at) || at.Equal(oldest.at) && len(r.last) == remembered
}
