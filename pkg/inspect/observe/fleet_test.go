package observe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// recorder is a follower that records what it shows. It runs in a synctest bubble, and ends with the test.
type recorder struct {
	*Follower

	shown   []Observation // guarded by mu, which is held while an object is shown
	failed  []error
	refuses error
}

// closely returns the extent for a named object.
func closely() Extent { return Extent{Depth: Reasons, Competitors: true} }

func (s *server) follower(t *testing.T, e Extent, several, every bool) *recorder {
	t.Helper()
	return &recorder{Follower: NewFollower(t.Context(), s.clients(), nil, e, several, every)}
}

// source returns a Source that records the shown observations and the errors.
func (r *recorder) source(t Target) Source {
	return Source{
		Target: t,
		Show:   func(o Observation) error { r.shown = append(r.shown, o); return r.refuses },
		Fail:   func(err error) { r.failed = append(r.failed, err) },
	}
}

// follow starts to follow one object or, if the target has no name, all objects of its kind.
func (r *recorder) follow(ctx context.Context, t Target) *waiting {
	return begin(func() error { return r.Follow(ctx, r.source(t)) })
}

// seen returns the observations since the last call of forget.
func (r *recorder) seen() []Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.shown)
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = nil
}

func (r *recorder) last() status.Report {
	all := r.seen()
	if len(all) == 0 {
		return status.Report{}
	}
	return all[len(all)-1].Report
}

// saw sorts the observations, compares them with the expected ones, and then forgets the observations.
func (r *recorder) saw(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, o := range r.seen() {
		got = append(got, fmt.Sprint(o.Report.Metadata.Name, " ", o.Report.Verdict))
	}
	if slices.Sort(got); !slices.Equal(got, want) || len(r.failed) > 0 {
		t.Errorf("shown = %q, errors %v, want %q", got, r.failed, want)
	}
	r.forget()
}

func namedDeployment(t *testing.T, name string, desired int) *unstructured.Unstructured {
	t.Helper()
	obj := deployment(t, desired, 0)
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	return obj
}

func allDeployments() Target { return Target{Kind: deployments(), Namespace: "ns"} }

// An object is shown when it appears, when it or one of its children changes, and when it is removed. After
// its removal, changes of its children are ignored.
func TestFleetShowsChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		r := s.follower(t, closely(), true, false)
		r.follow(t.Context(), allDeployments())
		r.saw(t, "web progressing")
		put := func(obj *unstructured.Unstructured, want ...string) {
			t.Helper()
			s.put(obj)
			pass(time.Second)
			r.saw(t, want...)
		}
		put(podOf(t, "web-1", 1, false)) // the report does not change
		put(broken(t, 1), "web failed")
		put(namedDeployment(t, "zero", 0), "zero ready")
		s.put(podOf(t, "web-1", 1, true))
		s.put(replicaSet(t, "web-1", 2, 2))
		pass(time.Second)
		r.forget()
		put(deployment(t, 2, 2), "web ready")
		s.remove(deployment(t, 2, 2))
		pass(time.Second)
		r.saw(t, "web deleted")
		if err := r.remove(r.source(web()), deployment(t, 2, 2)); err != nil { // another source selects it, too
			t.Error(err)
		}
		s.put(broken(t, 1))
		pass(time.Minute)
		r.saw(t)
		put(deployment(t, 2, 1), "web progressing") // create it again
	})
}

// A single change is shown immediately. Continuous changes are shown four times a second, and the last change
// is always shown.
func TestFleetLimitsUpdateRate(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		r := s.follower(t, closely(), true, false)
		r.follow(t.Context(), allDeployments())
		r.forget()
		for i := range 95 {
			s.put(deployment(t, 2, i%2))
			pass(10 * time.Millisecond)
			if i == 0 {
				r.saw(t, "web progressing")
			}
		}
		r.saw(t, "web progressing", "web progressing", "web progressing")
		pass(time.Second)
		r.saw(t, "web progressing")
	})
}

// An error about an object is passed to Fail. The end of the context is not an error.
func TestFleetFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.forbid("list pods")
		r := s.follower(t, closely(), true, false)
		r.follow(t.Context(), web())
		if len(r.failed) != 1 || !apierrors.IsForbidden(r.failed[0]) {
			t.Errorf("pods are forbidden: errors = %v, want one Forbidden", r.failed)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		r := serveWeb(t, 1).follower(t, closely(), true, false)
		r.refuses = errors.New("the pipe is closed")
		r.follow(t.Context(), web())
		if len(r.failed) != 1 || !errors.Is(r.failed[0], r.refuses) {
			t.Errorf("Show fails: errors = %v, want its error", r.failed)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		r := serveWeb(t, 1).follower(t, closely(), true, false)
		ctx, stop := context.WithCancel(t.Context())
		w := r.follow(ctx, web())
		if stop(); !w.over() {
			t.Error("Follow has not ended after its context was canceled")
		}
		r.saw(t, "web progressing")
	})
}

// A watch of a type unsubscribes from the feeds when an object is deleted.
func TestFleetForgetsDeletedObjects(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		r := s.follower(t, closely(), true, false)
		r.follow(t.Context(), allDeployments())
		pass(time.Second)
		subscribers := reflect.ValueOf(r.Pods("ns", "")).Elem().FieldByName("subscribers")
		before := subscribers.Len()
		for i := range 3 {
			obj := namedDeployment(t, fmt.Sprint("d", i), 1)
			s.put(obj)
			pass(time.Second)
			s.remove(obj)
			pass(time.Second)
		}
		if n := subscribers.Len(); n != before || n == 0 {
			t.Errorf("%d subscribers after other objects were deleted, want %d", n, before)
		}
	})
}

// If the verdict is doubtful, the object is observed again soon. If the verdict changes at a known
// time, the next observation is at that time.
func TestFleetLooksAgain(t *testing.T) {
	t.Parallel()
	obj := deployment(t, 1, 1)
	f := &Follower{members: map[types.UID]*model{obj.GetUID(): {}}}
	shown := 0
	show := func(Observation) error { shown++; return nil }
	see := f.see(obj.GetUID(), show)
	at := Observation{Target: Target{Object: obj}}
	for _, test := range []struct {
		report status.Report
		want   time.Duration
		shown  int // the number of reports shown so far
	}{
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second, 1},
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second, 1}, // the same report is not shown again
		{status.Report{ReasonCode: problem.CodeStatusBehind, Recheck: 7 * time.Second}, time.Second, 2},
		{status.Report{ReasonCode: problem.CodeStatusBehind}, time.Second, 2},
		{status.Report{}, 0, 3},
	} {
		at.Report = test.report
		if done, again, err := see(at); done || again != test.want || shown != test.shown || err != nil {
			t.Errorf("%+v: next look after %s, %d reports shown, done = %t, error %v; want %s, %d", test.report, again, shown, done, err, test.want, test.shown)
		}
	}
	at.Object = nil
	if done, _, err := see(at); !done || err != nil {
		t.Errorf("deleted object: done = %t, error %v, want true", done, err)
	}
	if done, _, err := f.see("removed", show)(Observation{Target: Target{Object: obj}}); !done || err != nil {
		t.Errorf("removed member: done = %t, error %v, want true", done, err)
	}
}

// Each creation, change, or deletion is shown exactly once, even if a watch misses it.
func TestFollowCatchesUp(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*server){
		"the watch continues": func(*server) {},
		"the watch expires":   func(s *server) { s.Expire() },
	} {
		bubble.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.put(namedDeployment(t, "a", 0))
			s.put(namedDeployment(t, "b", 0))
			r := s.follower(t, Extent{Depth: Reasons}, true, false)
			from := r.source(allDeployments())
			listed := 0
			from.Listed = func(n int) error { listed += n; return nil }
			w := begin(func() error { return r.Follow(t.Context(), from) })
			r.saw(t, "a ready", "b ready")
			s.put(namedDeployment(t, "a", 1))
			s.remove(namedDeployment(t, "b", 0))
			s.put(namedDeployment(t, "c", 0))
			change(s)
			pass(2 * time.Second)
			r.saw(t, "a progressing", "b deleted", "c ready")
			change(s)
			pass(2 * time.Second)
			r.saw(t)
			if w.over() || listed != 2 {
				t.Errorf("%s: Follow ended = %t, %d objects listed at first, want false and 2", what, w.over(), listed)
			}
		})
	}
}
