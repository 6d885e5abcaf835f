package lease

import (
	"errors"
	"net/http"
	"time"
)

// writesFor is how long after a renewal the loop may start writes. Another loop may acquire the lease only later.
const writesFor = leaseDuration - renewPeriod

var errLeaseNotHeld = errors.New("refusing to write without the lease")

// Fence returns a RoundTripper that rejects writes while the lease is not held. After the machine
// was suspended, the election may be late to notice that the lease is lost.
func (l *Lease) Fence(next http.RoundTripper) http.RoundTripper {
	return Fence{Next: next, MayWrite: l.held, Refusal: errLeaseNotHeld}
}

// Fence is a RoundTripper that sends a write only if MayWrite returns true, or else returns the error Refusal.
type Fence struct {
	Next     http.RoundTripper
	MayWrite func() bool
	Refusal  error
}

// RoundTrip sends a request, or returns Refusal.
func (f Fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || f.MayWrite() {
		return f.Next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // a RoundTripper must close the body
	}
	return nil, f.Refusal
}

// held reports whether the last renewal is so recent that no other loop can have the lease.
func (l *Lease) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Check both clocks: the monotonic clock stops while the machine is suspended, and the wall clock can be set back.
	now := l.Clock.Now()
	return now.Sub(l.renewed) < writesFor && now.Round(0).Sub(l.renewed.Round(0)) < writesFor
}

// renewedAt records when the last renewal was sent, and calls OnChange. A zero time means that the lease is not held.
func (l *Lease) renewedAt(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = sent
	namespace, name := l.Self.Scope.Lease()
	l.OnChange(namespace+"/"+name, !sent.IsZero())
}
