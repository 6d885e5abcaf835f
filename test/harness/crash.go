package harness

import (
	"net/http"
	"sync/atomic"
)

// The ways in which CrashAt makes a write fail.
const (
	CrashBeforeWrite = "before" // the controller dies before the request is sent
	CrashAfterWrite  = "after"  // the controller dies after the response
	ReplyLost        = "lost"   // the server applies the write, but the connection breaks before the response
)

// CrashAt returns an interceptor that makes the k-th write fail in the given way, and
// counts the writes in writes. It calls crash if the controller is to die.
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
