package logs

import "time"

// resume records how far the log of a container has been read, so that it can be reopened without
// repeating lines. The server can only begin at a whole second, and lines of stdout and stderr may
// be slightly out of order. So resume counts the lines since the second of the newest line began.
type resume struct {
	// oldest and newest are the times of the first line and of the newest one.
	oldest, newest time.Time
	// lines is the number of lines that resume has counted. repeated is how many of these lines are
	// still to be skipped.
	lines, repeated int
}

// begin prepares to reopen the log, and returns the time to read from; zero means the beginning.
func (r *resume) begin() time.Time {
	r.repeated = r.lines
	return r.newest.Truncate(time.Second)
}

// isNew counts a line, and reports whether it is new. resumed is set if the log was opened again,
// so that lines may be repeated.
func (r *resume) isNew(line Line, resumed bool) bool {
	switch {
	case line.Time.IsZero():
		// This is the kubelet's message that there is no log, or that it has ended. Ignore it for a log
		// that was read before, because the log is removed with its pod.
		return !resumed
	case !resumed || line.Time.After(r.newest):
	case line.Time.Before(r.oldest):
		return false // it precedes the first line that was requested
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
