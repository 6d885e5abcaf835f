package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func (s *server) deployments(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	return web().Resource(s.clients().Dynamic)
}

type waiting struct {
	ended chan struct{}
	// at is when the wait ended, or zero.
	at  time.Time
	err error
}

// begin starts a wait, and returns one second later.
func begin(wait func() error) *waiting {
	w := &waiting{ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.err = wait()
		w.at = time.Now()
	}()
	pass(time.Second)
	return w
}

func (w *waiting) over() bool {
	synctest.Wait()
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// WaitForObject returns when done returns true or an error, after the timeout, when the context ends,
// or when the server rejects a request.
func TestWaitForObjectEnds(t *testing.T) {
	t.Parallel()
	odd, stopped := errors.New("it is odd"), errors.New("somebody has stopped it")
	never := func(*unstructured.Unstructured) (bool, error) { return false, nil }
	for what, test := range map[string]struct {
		done   func(*unstructured.Unstructured) (bool, error)
		change func(s *server, stop context.CancelCauseFunc)
		is     func(error) bool
	}{
		"at once":               {func(obj *unstructured.Unstructured) (bool, error) { return obj != nil, nil }, nil, func(err error) bool { return err == nil }},
		"with an error":         {func(*unstructured.Unstructured) (bool, error) { return false, odd }, nil, func(err error) bool { return errors.Is(err, odd) }},
		"after the timeout":     {never, nil, func(err error) bool { return errors.Is(err, outcome.ErrTimeout) }},
		"when the context ends": {never, func(_ *server, stop context.CancelCauseFunc) { stop(stopped) }, func(err error) bool { return errors.Is(err, stopped) }},
		"when a watch is forbidden": {never, func(s *server, _ context.CancelCauseFunc) {
			s.forbid("watch deployments")
			s.EndWatches("", nil)
		}, apierrors.IsForbidden},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			ctx, stop := context.WithCancelCause(t.Context())
			w := begin(func() error { return WaitForObject(ctx, s.deployments(t), "web", time.Minute, test.done) })
			if test.change != nil {
				test.change(s, stop)
			}
			pass(58 * time.Second)
			if timeout := what == "after the timeout"; w.over() == timeout {
				t.Errorf("%s: just before the timeout: wait ended = %t, error %v", what, w.over(), w.err)
			}
			pass(time.Second)
			if !w.over() || !test.is(w.err) {
				t.Errorf("%s: in the end: wait ended = %t, error %v", what, w.over(), w.err)
			}
			stop(nil)
		})
	}
}

// If the timeout is reached during a request, the error is ErrTimeout.
func TestWaitForObjectTimesOutDuringRequest(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		s.delay("* *", time.Minute)
		w := begin(func() error {
			return WaitForObject(t.Context(), s.deployments(t), "web", 10*time.Second, func(*unstructured.Unstructured) (bool, error) { return false, nil })
		})
		if pass(10 * time.Second); !w.over() || w.err != outcome.ErrTimeout { //nolint:errorlint // the error is not wrapped
			t.Errorf("wait ended = %t, error %v, want ErrTimeout", w.over(), w.err)
		}
	})
}

// WaitUntilGone ignores another object with the same name. After a timeout, the error names the finalizers
// that block the deletion.
func TestWaitUntilGone(t *testing.T) {
	t.Parallel()
	const still = "wait for deployment.apps/web to be gone: timed out; last seen: "
	changed := func(change func(*unstructured.Unstructured)) func(*server) {
		return func(s *server) {
			obj := s.List("deployments", "ns")[0].DeepCopy()
			change(obj)
			s.put(obj)
		}
	}
	for what, test := range map[string]struct {
		change func(*server)
		want   string
	}{
		"the object is deleted":         {func(s *server) { s.remove(s.List("deployments", "ns")[0]) }, ""},
		"another object takes the name": {changed(func(obj *unstructured.Unstructured) { obj.SetUID("another") }), ""},
		"the object stays":              {func(*server) {}, still + "it still exists"},
		"finalizers block the deletion": {changed(func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/a", "example.com/b"}) }),
			still + "it still has the finalizers example.com/a, example.com/b"},
		"reading becomes forbidden": {func(s *server) { s.forbid("watch deployments"); s.EndWatches("", nil) },
			"wait for deployment.apps/web to be gone: deployments.apps is forbidden"},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			w := begin(func() error { return WaitUntilGone(t.Context(), s.deployments(t), deployment(t, 2, 2), time.Minute) })
			if w.over() {
				t.Errorf("%s: the wait ended before the change: %v", what, w.err)
			}
			test.change(s)
			pass(time.Minute)
			if !w.over() || (w.err == nil) != (test.want == "") || w.err != nil && !strings.HasPrefix(w.err.Error(), test.want) {
				t.Errorf("%s: wait ended = %t, error %v, want %q", what, w.over(), w.err, test.want)
			}
		})
	}
}
