package logs

import "time"

// resume records how far the log of a container has been read, so that the log can be reopened without
// repeating lines. The server can begin only at a whole second, and lines of stdout and stderr can be slightly
// out of order. Therefore, resume counts the lines from the start of the newest line's second.
type resume struct {
	// oldest and newest are the times of the first line and of the newest one.
	oldest, newest time.Time
	// lines is the number of counted lines. repeated is the number of counted lines that are still to
	// be skipped.
	lines, repeated int
}

// begin prepares to reopen the log, and returns the start time, or zero for the beginning.
func (r *resume) begin() time.Time {
	r.repeated = r.lines
	return r.newest.Truncate(time.Second)
}

// isNew counts a line, and reports whether the line is new. resumed is set if the log was reopened,
// so that lines can be repeated.
func (r *resume) isNew(line Line, resumed bool) bool {
	switch {
	case line.Time.IsZero():
		// The line is the kubelet's message that the log is missing or has ended. After a resume,
		// ignore the message, because the log is removed with its pod.
		return !resumed
	case !resumed || line.Time.After(r.newest):
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
