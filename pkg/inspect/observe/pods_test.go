package observe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// followPods starts to follow the pods of the Deployment, and records the pods of each observation.
func (s *server) followPods(ctx context.Context, t *testing.T, seen *[]string) *waiting {
	t.Helper()
	f, err := NewFollower(ctx, s.factory(), nil, Extent{Depth: Below}, false, true)
	if err != nil {
		t.Fatal(err)
	}
	return begin(func() error {
		defer f.Stop()
		ctx, stop := context.WithCancelCause(ctx)
		return f.Follow(ctx, Source{Target: web(), Fail: stop, Show: func(s Observation) error {
			if s.Report.Verdict == status.Deleted {
				return nil
			}
			if text := podsOf(s.Report); len(*seen) == 0 || (*seen)[len(*seen)-1] != text {
				*seen = append(*seen, text)
			}
			if s.Name != "web" || len(s.Report.Events) > 0 || len(s.Pods) != len(s.Report.Pods) {
				t.Errorf("it shows %+v", s)
			}
			return nil
		}})
	})
}

// Follow shows the pods of an object after each change, until the object is gone or the context ends.
// It reads no events and no nodes.
func TestFollowPods(t *testing.T) {
	t.Parallel()
	stopped := errors.New("somebody has stopped it")
	for what, test := range map[string]struct {
		end  func(*server, context.CancelCauseFunc)
		want error
	}{
		"it is gone":       {func(s *server, _ context.CancelCauseFunc) { s.remove(s.List("deployments", "ns")[0]) }, outcome.ErrGone},
		"the command ends": {func(_ *server, stop context.CancelCauseFunc) { stop(stopped) }, stopped},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			ctx, stop := context.WithCancelCause(t.Context())
			var seen []string
			w := s.followPods(ctx, t, &seen)
			if want := []string{"list deployments", "list pods", "list replicasets", "watch deployments", "watch pods", "watch replicasets"}; !slices.Equal(s.sent(), want) {
				t.Errorf("it sends %v, want %v", s.sent(), want)
			}
			s.put(podOf(t, "web-1", 1, true))
			pass(time.Second)
			s.remove(podOf(t, "web-1", 0, true))
			pass(time.Second)
			if want := []string{"[web-1-0 true web-1-1 false]", "[web-1-0 true web-1-1 true]", "[web-1-1 true]"}; w.over() || !slices.Equal(seen, want) {
				t.Errorf("%s: it has seen %q, ended: %t, %v", what, seen, w.over(), w.err)
			}
			test.end(s, stop)
			if pass(time.Second); !w.over() || !errors.Is(w.err, test.want) {
				t.Errorf("%s: it has ended: %t, %v", what, w.over(), w.err)
			}
			stop(nil)
		})
	}
}

// Following ends with an error if the object never existed or the server rejects a request. Requests
// that fail for other reasons are retried.
func TestFollowPodsOfAServerThatFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var seen []string
		if w := newServer(t).followPods(t.Context(), t, &seen); !w.over() || !apierrors.IsNotFound(w.err) || len(seen) > 0 {
			t.Errorf("of what is not there it says %v, %q", w.err, seen)
		}
		s := serveWeb(t, 1)
		s.forbid("list pods")
		if w := s.followPods(t.Context(), t, &seen); !w.over() || !apierrors.IsForbidden(w.err) || len(seen) > 0 {
			t.Errorf("without a right it says %v, %q", w.err, seen)
		}
		s = serveWeb(t, 1)
		back := s.fail("list pods")
		ctx, stop := context.WithCancel(t.Context())
		w := s.followPods(ctx, t, &seen)
		if w.over() || len(seen) > 0 {
			t.Errorf("of a server that fails it says %v, %q", w.err, seen)
		}
		back()
		if pass(5 * time.Second); w.over() || len(seen) != 1 {
			t.Errorf("of a server that is back it says %v, %q", w.err, seen)
		}
		stop()
		if !w.over() || !errors.Is(w.err, context.Canceled) {
			t.Errorf("in the end it says %v", w.err)
		}
	})
}
