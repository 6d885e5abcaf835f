package harness

import (
	"net/http"
	"sync/atomic"
)

// The ways in which a write can go wrong at the moment of a crash.
const (
	CrashBeforeWrite = "before" // the loop dies before it is sent
	CrashAfterWrite  = "after"  // the loop dies when it has been answered
	ReplyLost        = "lost"   // the server did it, the loop sees a broken connection
)

// CrashAt makes an interceptor that lets the k-th write go wrong, and calls
// crash for the two ways in which the loop dies of it.
func CrashAt(k int64, way string, writes *atomic.Int64, crash func()) Interceptor {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !IsWrite(r) || writes.Add(1) != k {
			return next.RoundTrip(r)
		}
		switch way {
		case CrashBeforeWrite:
			crash()
			return nil, errKilled
		case CrashAfterWrite:
			resp, err := next.RoundTrip(r)
			crash()
			return resp, err
		default:
			return LoseReply(next.RoundTrip(r))
		}
	}
}
