package logs

import "time"

// resume is how far the log of a container has been read, so that it can be opened again without
// repeating lines. The server begins at a whole second, and the times of the two streams of a
// container may not be quite in order, so the lines are counted from that second on.
type resume struct {
	// oldest and newest are the times of the first line and of the newest one.
	oldest, newest time.Time
	// lines counts the lines from the second of the newest one on. repeated is how many of them
	// are still to come again.
	lines, repeated int
}

// begin records that the log is opened again, and returns the start time; zero means the
// beginning.
func (r *resume) begin() time.Time {
	r.repeated = r.lines
	return r.newest.Truncate(time.Second)
}

// isNew counts a line, and reports whether it is new. resumed says that the log was opened
// again, so that lines may be repeated.
func (r *resume) isNew(line Line, resumed bool) bool {
	switch {
	case line.Time.IsZero():
		// The kubelet reports that there is no log, or that it has ended. That is normal for a
		// log that was read before: it is removed with its pod.
		return !resumed
	case !resumed || line.Time.After(r.newest):
	case line.Time.Before(r.oldest):
		return false // it was not requested, because only the last lines were
	case r.repeated > 0:
		r.repeated--
		return false
	}
	if r.oldest.IsZero() {
		r.oldest = line.Time
	}
	if second := line.Time.Truncate(time.Second); second.After(r.newest) {
		r.lines = 0
	}
	if !line.Time.Before(r.newest.Truncate(time.Second)) {
		r.lines++
	}
	if line.Time.After(r.newest) {
		r.newest = line.Time
	}
	return true
}
