package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// deployments returns the client for Deployments.
func (s *apiServer) deployments(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := s.factory(t).Dynamic()
	if err != nil {
		t.Fatal(err)
	}
	return web().Resource(client)
}

// waiting is a wait in a goroutine, and its result.
type waiting struct {
	ended chan struct{}
	err   error
}

// begin starts a wait, and returns when the wait has read everything once.
func begin(wait func() error) *waiting {
	w := &waiting{ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.err = wait()
	}()
	pass(time.Second)
	return w
}

// over reports whether the wait has ended.
func (w *waiting) over() bool {
	synctest.Wait()
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// WaitForObject calls done at first and after each change, with nil if the object does not exist.
func TestWaitForObjectShowsEachChange(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := newAPIServer()
		var seen []string
		w := begin(func() error {
			return WaitForObject(t.Context(), s.deployments(t), "web", time.Hour, func(obj *unstructured.Unstructured) (bool, error) {
				if obj == nil {
					seen = append(seen, "none")
				} else {
					seen = append(seen, obj.GetName()+" "+obj.GetResourceVersion())
				}
				return len(seen) == 4, nil
			})
		})
		other := deployment(t, 1, 1)
		other.SetName("other")
		for _, change := range []func(){
			func() { s.put("deployments", deployment(t, 1, 1)) },
			func() { s.put("deployments", other) },
			func() { s.remove("deployments", deployment(t, 1, 1)) },
		} {
			s.do(change)
			if w.over() {
				t.Error("it has ended too soon")
			}
		}
		s.do(func() { s.put("deployments", deployment(t, 1, 1)) })
		if !w.over() || w.err != nil || !slices.Equal(seen, []string{"none", "web 2", "none", "web 5"}) {
			t.Errorf("it has seen %v, %v", seen, w.err)
		}
	})
}

// WaitForObject returns when done returns true or an error, when its time is over, when the context
// ends, or when the server refuses.
func TestWaitForObjectEnds(t *testing.T) {
	t.Parallel()
	odd, stopped := errors.New("it is odd"), errors.New("somebody has stopped it")
	never := func(*unstructured.Unstructured) (bool, error) { return false, nil }
	for what, test := range map[string]struct {
		done   func(*unstructured.Unstructured) (bool, error)
		change func(s *apiServer, stop context.CancelCauseFunc)
		is     func(error) bool
	}{
		"at once":               {func(obj *unstructured.Unstructured) (bool, error) { return obj != nil, nil }, nil, func(err error) bool { return err == nil }},
		"with an error":         {func(*unstructured.Unstructured) (bool, error) { return false, odd }, nil, func(err error) bool { return errors.Is(err, odd) }},
		"when its time is over": {never, nil, func(err error) bool { return errors.Is(err, outcome.ErrTimeout) }},
		"when the command does": {never, func(_ *apiServer, stop context.CancelCauseFunc) { stop(stopped) }, func(err error) bool { return errors.Is(err, stopped) }},
		"when the server refuses": {never, func(s *apiServer, _ context.CancelCauseFunc) {
			s.forbidden["watch deployments"] = true
			s.endWatches("", "")
		}, apierrors.IsForbidden},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			ctx, stop := context.WithCancelCause(t.Context())
			w := begin(func() error { return WaitForObject(ctx, s.deployments(t), "web", time.Minute, test.done) })
			if test.change != nil {
				s.do(func() { test.change(s, stop) })
			}
			pass(58 * time.Second)
			if timeout := what == "when its time is over"; w.over() == timeout {
				t.Errorf("%s: it has ended: %t, %v", what, w.over(), w.err)
			}
			pass(time.Second)
			if !w.over() || !test.is(w.err) {
				t.Errorf("%s: it has ended: %t, %v", what, w.over(), w.err)
			}
			stop(nil)
		})
	}
}

// If the timeout is reached during a request, the error is ErrTimeout.
func TestWaitForObjectEndsWhileItReads(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		s.latency = time.Minute
		w := begin(func() error {
			return WaitForObject(t.Context(), s.deployments(t), "web", 10*time.Second, func(*unstructured.Unstructured) (bool, error) { return false, nil })
		})
		if pass(10 * time.Second); !w.over() || w.err != outcome.ErrTimeout { //nolint:errorlint // the error is not wrapped
			t.Errorf("it has ended: %t, %v", w.over(), w.err)
		}
	})
}

// WaitUntilGone waits for the given object, and not for another one with its name. After a timeout,
// the error names what blocks the deletion.
func TestWaitUntilGone(t *testing.T) {
	t.Parallel()
	const still = "wait for deployment.apps/web to be gone: timed out; last seen: "
	changed := func(change func(*unstructured.Unstructured)) func(*apiServer) {
		return func(s *apiServer) {
			obj := s.all("deployments")[0].DeepCopy()
			change(obj)
			s.put("deployments", obj)
		}
	}
	for what, test := range map[string]struct {
		change func(*apiServer)
		want   string
	}{
		"it goes":       {func(s *apiServer) { s.remove("deployments", s.all("deployments")[0]) }, ""},
		"another comes": {changed(func(obj *unstructured.Unstructured) { obj.SetUID("another") }), ""},
		"it stays":      {func(*apiServer) {}, still + "it still exists"},
		"finalizers hold it": {changed(func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/a", "example.com/b"}) }),
			still + "it still has the finalizers example.com/a, example.com/b"},
		"it may not be read any more": {func(s *apiServer) { s.forbidden["watch deployments"] = true; s.endWatches("", "") },
			"wait for deployment.apps/web to be gone: no right to watch deployments"},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			w := begin(func() error { return WaitUntilGone(t.Context(), s.deployments(t), deployment(t, 2, 2), time.Minute) })
			if w.over() {
				t.Errorf("%s: it has ended before, %v", what, w.err)
			}
			s.do(func() { test.change(s) })
			pass(time.Minute)
			if got := fmt.Sprint(w.err); !w.over() || got != test.want && (w.err != nil || test.want != "") {
				t.Errorf("%s: it has ended: %t, %v, want %q", what, w.over(), w.err, test.want)
			}
		})
	}
}
