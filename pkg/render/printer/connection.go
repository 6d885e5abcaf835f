package printer

import "time"

// Connection says for a line of a log that the connection to the server was lost, or, if
// the time of that is zero, that it is there again.
func Connection(lost time.Time) string {
	if lost.IsZero() {
		return "connected to the server again"
	}
	return "connection to the server lost, reconnecting"
}

// connectionLost says since when nothing was heard of the server.
func connectionLost(since, now time.Time) string {
	return "connection lost " + age(since, now) + " ago"
}
