package harness

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Faults injects random network and server failures, except while calm is set.
type Faults struct {
	mu   sync.Mutex
	rand *rand.Rand
	calm bool
	// held is non-nil while watches are delayed. Closing held releases the watches.
	held chan struct{}

	// Injected counts the injected faults.
	Injected atomic.Int64
}

// NewFaults returns Faults whose random choices depend only on the seed.
func NewFaults(seed uint64) *Faults { return &Faults{rand: rand.New(rand.NewPCG(seed, seed))} }

// roll returns a random number below n, or -1 while calm is set.
func (f *Faults) roll(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calm {
		return -1
	}
	return f.rand.IntN(n)
}

// SetCalm stops or resumes the fault injection. When it stops the injection, it also calls Release.
func (f *Faults) SetCalm(calm bool) {
	f.mu.Lock()
	f.calm = calm
	f.mu.Unlock()
	if calm {
		f.Release()
	}
}

// Hold delays the events of watches until Release is called. While calm is set, it does nothing.
func (f *Faults) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil && !f.calm {
		f.held = make(chan struct{})
		f.Injected.Add(1)
	}
}

// Release delivers the events that Hold delayed.
func (f *Faults) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		close(f.held)
		f.held = nil
	}
}

func (f *Faults) gate() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// disturb returns a transport that makes about a third of the requests fail or stall, and disturbs watches.
func (f *Faults) disturb(base http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "" {
			return f.disturbWatch(r, base)
		}
		return f.disturbRequest(r, base)
	})
}

func (f *Faults) disturbRequest(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	fault := f.roll(36)
	if fault >= 0 && fault < 12 {
		f.Injected.Add(1)
	}
	switch fault {
	case 0, 1:
		return nil, io.ErrUnexpectedEOF // never sent
	case 2, 3, 4:
		return loseReply(next.RoundTrip(r)) // applied, but the response is lost
	case 5, 6:
		if err := Sleep(r.Context(), time.Duration(f.roll(800))*time.Millisecond); err != nil {
			return nil, err
		}
	case 7:
		return refuse(r, http.StatusConflict, "Conflict", "the object has been modified"), nil
	case 8:
		resp := refuse(r, http.StatusTooManyRequests, "TooManyRequests", "too many requests")
		resp.Header.Set("Retry-After", "1")
		return resp, nil
	case 9:
		return refuse(r, http.StatusInternalServerError, "InternalError", "etcd is unwell"), nil
	case 10:
		return refuse(r, http.StatusServiceUnavailable, "ServiceUnavailable", "shutting down"), nil
	case 11:
		return refuse(r, http.StatusUnauthorized, "Unauthorized", "the credentials have expired"), nil
	}
	return next.RoundTrip(r)
}

// disturbWatch rejects some watches as expired, and ends the others within about two seconds. While calm is set, it
// does neither. Hold can delay the events of a watch.
func (f *Faults) disturbWatch(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if f.roll(10) == 0 {
		f.Injected.Add(1)
		return refuse(r, http.StatusGone, "Expired", "too old resource version"), nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	resp, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	b := &watchBody{ReadCloser: resp.Body, faults: f, cancel: cancel}
	if life := f.roll(2000); life >= 0 {
		f.Injected.Add(1)
		b.end = time.AfterFunc(time.Duration(200+life)*time.Millisecond, cancel)
	}
	resp.Body = b
	return resp, nil
}

// watchBody is the body of a watch response that disturbWatch returns.
type watchBody struct {
	io.ReadCloser
	faults *Faults
	cancel context.CancelFunc
	end    *time.Timer
}

// Read blocks while watches are delayed.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if gate := b.faults.gate(); gate != nil && err == nil {
		<-gate
	}
	return n, err
}

func (b *watchBody) Close() error {
	if b.end != nil {
		b.end.Stop()
	}
	b.cancel()
	return b.ReadCloser.Close()
}

// Sleep waits for the duration d. It returns an error if the context ends earlier.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stalled: %w", ctx.Err())
	}
}

// refuse returns a response that rejects a request.
func refuse(r *http.Request, code int, reason, message string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// loseReply discards the response to a handled request, and returns an error.
func loseReply(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return nil, io.ErrUnexpectedEOF
}
