package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
)

// untilPrinted ends what prints once it has printed some words.
type untilPrinted struct {
	words string
	end   func()

	mu      sync.Mutex
	printed strings.Builder
}

func (u *untilPrinted) Write(data []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.printed.Write(data)
	if strings.Contains(u.printed.String(), u.words) {
		u.end()
	}
	return len(data), nil
}

// A declared kind whose objects the server cannot list at first is listed again. One whose
// objects one may not list is left out.
func TestStatusWatchListsAgain(t *testing.T) {
	t.Parallel()
	types := []resourceType{
		{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false, false},
		{"example.com/v1", "widgets", "Widget", true, false},
		{"example.com/v1", "secrets", "Secret", true, false},
		{"v1", "pods", "Pod", true, false}, {"v1", "events", "Event", true, false},
		{"coordination.k8s.io/v1", "leases", "Lease", true, false},
	}
	s := serveObjects(t, types,
		declared("widgets", "Widget"), declared("secrets", "Secret"),
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: gear, namespace: default, uid: gear, resourceVersion: "1", generation: 1}, spec: {replicas: 1}}`)
	const list = "/apis/example.com/v1/namespaces/default/"
	s.answers["GET "+list+"widgets"] = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		delete(s.answers, "GET "+list+"widgets")
		s.mu.Unlock()
		status(http.StatusServiceUnavailable, "ServiceUnavailable")(w, r)
	}
	s.answers["GET "+list+"secrets"] = status(http.StatusForbidden, "Forbidden")
	ctx, stop := context.WithTimeout(t.Context(), deadline)
	defer stop()
	out := &untilPrinted{words: "gear", end: stop}
	var stderr strings.Builder
	root := cmd.NewRootCommand("v0.0.0-test", genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Writer(out), ErrOut: &stderr})
	root.SetArgs(append([]string{"status", "-w"}, flagsFor(s.URL, t.TempDir())...))
	err := root.ExecuteContext(ctx)
	if !strings.Contains(out.printed.String(), "gear") || strings.Contains(stderr.String(), "secrets") {
		t.Errorf("it printed %q and %q, %v, after %q", &out.printed, &stderr, err, s.requests())
	}
	if want := "cannot list widgets.example.com"; !strings.Contains(stderr.String(), want) {
		t.Errorf("it said %q, want %q", &stderr, want)
	}
}
