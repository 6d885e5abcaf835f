package observe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// pods returns the pods in each shown observation of the Deployment, without repetitions.
func (f *recorder) pods(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, s := range f.seen() {
		if s.Name != "web" || len(s.Report.Events) > 0 {
			t.Errorf("it shows %+v", s)
		}
		all = append(all, podsOf(s.Report))
	}
	return slices.Compact(all)
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
			f := s.follower(t, Extent{Depth: Below}, false, true)
			w := f.follow(ctx, web())
			if want := []string{"list deployments", "list pods", "list replicasets", "watch deployments", "watch pods", "watch replicasets"}; !slices.Equal(s.sent(), want) {
				t.Errorf("it sends %v, want %v", s.sent(), want)
			}
			s.put(podOf(t, "web-1", 1, true))
			pass(time.Second)
			s.remove(podOf(t, "web-1", 0, true))
			pass(time.Second)
			if want := []string{"[web-1-0 true web-1-1 false]", "[web-1-0 true web-1-1 true]", "[web-1-1 true]"}; w.over() || !slices.Equal(f.pods(t), want) {
				t.Errorf("%s: it has seen %q, ended: %t, %v", what, f.pods(t), w.over(), w.err)
			}
			test.end(s, stop)
			if pass(time.Second); !w.over() || !errors.Is(w.err, test.want) || len(f.failed) > 0 {
				t.Errorf("%s: it has ended: %t, %v, %v", what, w.over(), w.err, f.failed)
			}
			stop(nil)
		})
	}
}

// Following ends with an error if the object never existed. Requests that fail are retried.
func TestFollowPodsOfAServerThatFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f := newServer(t).follower(t, Extent{Depth: Below}, false, true)
		if w := f.follow(t.Context(), web()); !w.over() || !apierrors.IsNotFound(w.err) || len(f.seen()) > 0 {
			t.Errorf("of what is not there it says %v, %v", w.err, f.seen())
		}
		s := serveWeb(t, 1)
		back := s.fail("list pods")
		f = s.follower(t, Extent{Depth: Below}, false, true)
		w := f.follow(t.Context(), web())
		if w.over() || len(f.seen()) > 0 {
			t.Errorf("of a server that fails it says %v, %v", w.err, f.seen())
		}
		back()
		if pass(5 * time.Second); w.over() || len(f.pods(t)) != 1 {
			t.Errorf("of a server that is back it says %v, %v", w.err, f.pods(t))
		}
	})
}
