package logs

import "time"

// resume records how far the log of a container has been read, so that the log can be reopened without repeating lines.
// The server can begin only at a whole second, and lines of stdout and stderr may be slightly out of order. Therefore,
// resume counts the lines since the start of the second in which the newest line was written.
type resume struct {
	// oldest and newest are the times of the first line and of the newest line.
	oldest, newest time.Time
	// lines is the number of counted lines. repeated is how many of them must still be skipped.
	lines, repeated int
	// reopened means that the log may repeat lines.
	reopened bool
}

// reopen prepares to reopen the log. It returns the time from which to read, or zero for the whole log.
func (r *resume) reopen() time.Time {
	r.repeated, r.reopened = r.lines, true
	return r.newest.Truncate(time.Second)
}

// isNew reports whether a line is new and, if so, counts the line.
func (r *resume) isNew(line Line) bool {
	switch {
	case line.Time.IsZero():
		// The line is the kubelet's message that the log is missing or has ended. In a reopened log,
		// ignore the message, because the log is removed with its pod.
		return !r.reopened
	case !r.reopened || line.Time.After(r.newest):
	case line.Time.Before(r.oldest):
		return false // it precedes the first requested line
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
