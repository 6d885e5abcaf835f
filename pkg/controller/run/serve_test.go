package run

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A loop that waits is healthy, and one that is stuck is not, whatever the
// others do.
func TestHealthz(t *testing.T) {
	t.Parallel()
	var h health
	expect := func(code int, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.pages().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
		if w.Code != code || w.Body.String() != body {
			t.Errorf("%d %q, want %d %q", w.Code, w.Body, code, body)
		}
	}
	works := func(stuck string) loopHealth {
		return loopHealth{stuck: func() string { return stuck }}
	}
	expect(http.StatusOK, "ok\n")
	h.waits("a", "waiting for the lease")
	h.set("b", works(""))
	expect(http.StatusOK, "ok\n")
	h.set("b", works("foo has not ended"))
	h.set("", works("bar has not ended"))
	expect(http.StatusServiceUnavailable, "[-]all namespaces: bar has not ended\n[-]b: foo has not ended\n")
	h.waits("b", "waiting for the lease")
	h.waits("", "waiting for the lease")
	expect(http.StatusOK, "ok\n")
}
