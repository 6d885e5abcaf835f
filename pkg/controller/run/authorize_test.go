package run

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// The API server is asked once for many requests of a token, again when the
// answer is old, and never for a request without one. What it could not say is
// not kept.
func TestReviewedOnce(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	ask := func(_ *http.Request, token string) (answer, error) {
		asked[token]++
		switch token {
		case "nobody's":
			return answer{}, nil
		case "unlucky":
			return answer{}, errors.New("no")
		}
		return answer{&authenticationv1.UserInfo{Username: token}, token == "alice"}, nil
	}
	clk := clocktesting.NewFakePassiveClock(time.Now())
	handler := once(ask, clk, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	expect := func(path, authorization string, code int, token string, times int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != code || asked[token] != times {
			t.Errorf("%s with %q: %d, asked %d times; want %d and %d", path, authorization, w.Code, asked[token], code, times)
		}
	}
	for range 3 {
		expect("/metrics", "", http.StatusUnauthorized, "", 0)
		expect("/metrics", "Bearer alice", http.StatusOK, "alice", 1)
		expect("/metrics", "Bearer bob", http.StatusForbidden, "bob", 1)
		expect("/metrics", "Bearer nobody's", http.StatusUnauthorized, "nobody's", 1)
	}
	expect("/metrics", "Bearer unlucky", http.StatusInternalServerError, "unlucky", 1)
	expect("/metrics", "Bearer unlucky", http.StatusInternalServerError, "unlucky", 2)
	expect("/other", "Bearer alice", http.StatusOK, "alice", 2)
	clk.SetTime(clk.Now().Add(refusedFor + 1))
	expect("/metrics", "Bearer alice", http.StatusOK, "alice", 2)
	expect("/metrics", "Bearer bob", http.StatusForbidden, "bob", 2)
	clk.SetTime(clk.Now().Add(allowedFor))
	expect("/metrics", "Bearer alice", http.StatusOK, "alice", 3)
}
