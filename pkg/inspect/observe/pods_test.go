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

// pods returns the pods in each shown observation of the Deployment, without consecutive duplicates.
func (r *recorder) pods(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, o := range r.seen() {
		if o.Name != "web" || len(o.Report.Events) > 0 {
			t.Errorf("shown observation is of another object, or has events: %+v", o)
		}
		all = append(all, podsOf(o.Report))
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
		"the object is deleted": {func(s *server, _ context.CancelCauseFunc) { s.remove(s.List("deployments", "ns")[0]) }, outcome.ErrGone},
		"the context ends":      {func(_ *server, stop context.CancelCauseFunc) { stop(stopped) }, stopped},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			ctx, stop := context.WithCancelCause(t.Context())
			r := s.follower(t, Extent{Depth: Below}, false, true)
			w := r.follow(ctx, web())
			if want := []string{"list deployments", "list pods", "list replicasets", "watch deployments", "watch pods", "watch replicasets"}; !slices.Equal(s.sent(), want) {
				t.Errorf("requests = %v, want %v", s.sent(), want)
			}
			s.put(podOf(t, "web-1", 1, true))
			pass(time.Second)
			s.remove(podOf(t, "web-1", 0, true))
			pass(time.Second)
			if want := []string{"[web-1-0 true web-1-1 false]", "[web-1-0 true web-1-1 true]", "[web-1-1 true]"}; w.over() || !slices.Equal(r.pods(t), want) {
				t.Errorf("%s: pods seen = %q, Follow ended = %t, error %v", what, r.pods(t), w.over(), w.err)
			}
			test.end(s, stop)
			if pass(time.Second); !w.over() || !errors.Is(w.err, test.want) || len(r.failed) > 0 {
				t.Errorf("%s: Follow ended = %t, error %v, errors about objects %v", what, w.over(), w.err, r.failed)
			}
			stop(nil)
		})
	}
}

// Following ends with an error if the object never existed. Requests that fail are retried.
func TestFollowPodsOfAServerThatFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newServer(t).follower(t, Extent{Depth: Below}, false, true)
		if w := r.follow(t.Context(), web()); !w.over() || !apierrors.IsNotFound(w.err) || len(r.seen()) > 0 {
			t.Errorf("missing object: error = %v, want NotFound; shown %v, want nothing", w.err, r.seen())
		}
		s := serveWeb(t, 1)
		back := s.fail("list pods")
		r = s.follower(t, Extent{Depth: Below}, false, true)
		w := r.follow(t.Context(), web())
		if w.over() || len(r.seen()) > 0 {
			t.Errorf("the list of pods fails: Follow ended with %v, or showed %v", w.err, r.seen())
		}
		back()
		if pass(5 * time.Second); w.over() || len(r.pods(t)) != 1 {
			t.Errorf("the list of pods works again: Follow ended with %v, or showed %v, want one list of pods", w.err, r.pods(t))
		}
	})
}
