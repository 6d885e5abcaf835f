package run

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// health serves the probes. A loop that waits for its lease is ready, because it can take over. A
// running loop is ready when its caches are filled, and healthy unless a reconcile is stuck. After
// a loop has lost its lease, it counts as running until its reconciles have ended.
type health struct {
	mu    sync.Mutex
	loops map[string]loopHealth // by namespace
}

type loopHealth struct {
	// waits is the reason why the loop is not running, or "".
	waits string
	// synced reports whether all caches are filled. stuck returns a message about a stuck reconcile, or "".
	synced func() bool
	stuck  func() string
}

func (h *health) set(namespace string, of loopHealth) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loops == nil {
		h.loops = map[string]loopHealth{}
	}
	h.loops[namespace] = of
}

func (h *health) waits(namespace, why string) { h.set(namespace, loopHealth{waits: why}) }

// alive is the check for /healthz. It fails if a reconcile is stuck; words describes that reconcile.
func (of loopHealth) alive() (ok bool, words string) {
	if of.waits == "" {
		words = of.stuck()
	}
	return words == "", words
}

// ready is the check for /readyz. words describes the state of the loop.
func (of loopHealth) ready() (ok bool, words string) {
	switch {
	case of.waits != "":
		return true, of.waits
	case of.synced():
		return true, "reconciling; caches filled"
	}
	return false, "starting; filling the caches"
}

// page returns a handler that runs a check for each loop. The status is 503 if a check fails.
func (h *health) page(judge func(loopHealth) (ok bool, words string)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var lines []string
		all := true
		for namespace, of := range h.loops {
			ok, words := judge(of)
			sign := "+"
			if !ok {
				all, sign = false, "-"
			}
			if words != "" {
				lines = append(lines, fmt.Sprintf("[%s]%s: %s", sign, cmp.Or(namespace, "all namespaces"), words))
			}
		}
		if !all {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		slices.Sort(lines)
		fmt.Fprintln(w, cmp.Or(strings.Join(lines, "\n"), "ok")) //nolint:errcheck // the client has disconnected
	}
}

func (h *health) pages() http.Handler {
	pages := http.NewServeMux()
	pages.Handle("/healthz", h.page(loopHealth.alive))
	pages.Handle("/readyz", h.page(loopHealth.ready))
	return pages
}
