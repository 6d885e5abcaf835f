package run

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// health answers the probes. A loop that waits for its lease is ready to take over. A running
// loop is ready once its caches have synced, and healthy while no reconcile is stuck, even
// after it has lost its lease.
type health struct {
	mu    sync.Mutex
	loops map[string]loopHealth // by namespace
}

// loopHealth is the health of one loop.
type loopHealth struct {
	// waits is why the loop does not run, "" if it does.
	waits string
	// synced reports whether its caches are filled, and stuck which reconcile is stuck.
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

// waits records that the loop of a namespace is not running, and why.
func (h *health) waits(namespace, why string) { h.set(namespace, loopHealth{waits: why}) }

// healthy reports whether no loop is stuck, with a line for each that is.
func (h *health) healthy() (ok bool, lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for namespace, of := range h.loops {
		if of.waits != "" {
			continue
		}
		if why := of.stuck(); why != "" {
			lines = append(lines, fmt.Sprintf("[-]%s: %s", scopeName(namespace), why))
		}
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return true, []string{"ok"}
	}
	return false, lines
}

func scopeName(namespace string) string { return cmp.Or(namespace, "all namespaces") }

// ready reports whether all loops are ready, with a line for each.
func (h *health) ready() (ok bool, lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.loops) == 0 {
		return false, []string{"[-]starting"}
	}
	ok = true
	for namespace, of := range h.loops {
		sign, words := "+", of.waits
		switch {
		case words != "":
		case of.synced():
			words = "reconciling; caches filled"
		default:
			ok, sign, words = false, "-", "reconciling; filling the caches"
		}
		lines = append(lines, fmt.Sprintf("[%s]%s: %s", sign, scopeName(namespace), words))
	}
	slices.Sort(lines)
	return ok, lines
}

func (h *health) pages() http.Handler {
	pages := http.NewServeMux()
	for path, asked := range map[string]func() (bool, []string){"/healthz": h.healthy, "/readyz": h.ready} {
		pages.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			ok, lines := asked()
			if !ok {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			fmt.Fprintln(w, strings.Join(lines, "\n")) //nolint:errcheck // who asked has gone
		})
	}
	return pages
}
