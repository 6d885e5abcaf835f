package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// fleetOf follows objects, and records the shown verdicts and the errors.
type fleetOf struct {
	*Follower

	ctx     context.Context //nolint:containedctx // of a test
	stop    func()
	running sync.WaitGroup
	shown   []string
	failed  []error
	refuses error
}

// closely returns the extent for a named object.
func closely() Extent { return Extent{Depth: Reasons, Competitors: true} }

func (s *server) fleet(t *testing.T, x Extent, every bool) *fleetOf {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	f := &fleetOf{ctx: ctx, stop: stop}
	var err error
	if f.Follower, err = NewFollower(ctx, s.factory(), nil, x, true, every); err != nil {
		t.Fatal(err)
	}
	return f
}

// source returns a source that records the shown observations of an object.
func (f *fleetOf) source(t Target) Source {
	return Source{
		Target: t,
		Show: func(s Observation) error {
			f.shown = append(f.shown, fmt.Sprint(s.Report.Metadata.Name, " ", s.Report.Verdict))
			return f.refuses
		},
		Fail: func(err error) { f.failed = append(f.failed, err) },
	}
}

func (f *fleetOf) put(obj *unstructured.Unstructured) {
	target := web()
	if obj.GetKind() == "ImoocPod" {
		target = foo()
	}
	f.Follower.put(f.ctx, &f.running, f.source(target), obj)
	pass(time.Second)
}

// saw compares the observations since its last call with the expected ones.
func (f *fleetOf) saw(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.shown, want) || len(f.failed) > 0 {
		t.Errorf("it shows %q, %v, want %q", f.shown, f.failed, want)
	}
	f.shown = nil
}

func (f *fleetOf) end() {
	f.stop()
	f.running.Wait()
	f.Stop()
}

// An object is shown when it appears, when it or one of its children changes, and when it is removed. After
// its removal, changes of its children are ignored.
func TestFleetShowsChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, closely(), false)
		obj := s.List("deployments", "ns")[0]
		f.put(obj)
		f.saw(t, "web progressing")
		f.put(obj) // the same version
		f.saw(t)
		s.put(podOf(t, "web-1", 1, false)) // the report does not change
		pass(time.Second)
		f.saw(t)
		s.put(broken(t, 1))
		pass(time.Second)
		f.saw(t, "web failed")
		other := deployment(t, 0, 0)
		other.SetName("zero")
		other.SetUID("zero")
		f.put(other)
		f.saw(t, "zero ready")
		s.readyAll(t)
		pass(time.Second) // the pods are watched, but the Deployment is not
		f.shown = nil
		f.put(s.List("deployments", "ns")[0])
		f.saw(t, "web ready")
		for range 2 { // the second time, the object no longer exists
			if err := f.remove(f.source(web()), obj); err != nil {
				t.Error(err)
			}
			f.saw(t, "web deleted")
		}
		s.put(broken(t, 1))
		pass(time.Minute)
		f.saw(t)
		f.put(s.List("deployments", "ns")[0]) // create it again
		if f.shown == nil {
			t.Error("what comes again is not shown")
		}
		f.end()
	})
}

// A single change is shown immediately. Continuous changes are shown four times a second, and the last change
// is always shown.
func TestFleetShowsNoMoreThanPeopleSee(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, closely(), false)
		f.put(s.List("deployments", "ns")[0])
		f.shown = nil
		for i := range 95 {
			obj := deployment(t, 2, i%2)
			obj.SetResourceVersion(fmt.Sprint(100 + i))
			f.Follower.put(f.ctx, &f.running, f.source(web()), obj)
			pass(10 * time.Millisecond)
			if i == 0 {
				f.saw(t, "web progressing")
			}
		}
		f.saw(t, "web progressing", "web progressing", "web progressing")
		pass(time.Second)
		f.saw(t, "web progressing")
		f.end()
	})
}

// Errors of an object are passed to Fail. The end of the context is not an error.
func TestFleetFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.forbid("list pods")
		f := s.fleet(t, closely(), false)
		f.put(s.List("deployments", "ns")[0])
		if len(f.failed) != 1 || !apierrors.IsForbidden(f.failed[0]) {
			t.Errorf("it fails with %v", f.failed)
		}
		f.end()
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, closely(), false)
		f.refuses = errors.New("the pipe is closed")
		f.put(s.List("deployments", "ns")[0])
		if len(f.failed) != 1 || !errors.Is(f.failed[0], f.refuses) {
			t.Errorf("it fails with %v", f.failed)
		}
		f.end()
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, closely(), false)
		f.put(s.List("deployments", "ns")[0])
		f.end()
		f.saw(t, "web progressing") // the end of the context is not a failure
	})
	nowhere := newServer(t).factory()
	*nowhere.Flags.APIServer = "http://[broken"
	if _, err := NewFollower(t.Context(), nowhere, nil, closely(), true, false); err == nil {
		t.Error("it needs no server")
	}
}

// If the verdict is doubtful, the object is observed again soon. If the verdict changes at a known
// time, the next observation is at that time.
func TestFleetLooksAgain(t *testing.T) {
	t.Parallel()
	obj := deployment(t, 1, 1)
	f := &Follower{members: map[types.UID]*watcher{obj.GetUID(): {}}}
	show := func(Observation) error { return nil }
	see := f.see(obj.GetUID(), show)
	at := Observation{Target: Target{Object: obj}}
	for _, test := range []struct {
		report status.Report
		want   time.Duration
	}{
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second},
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second}, // the same report is not shown again
		{status.Report{ReasonCode: problem.CodeStatusBehind, Recheck: 7 * time.Second}, time.Second},
		{status.Report{ReasonCode: problem.CodeStatusBehind}, time.Second},
		{status.Report{}, 0},
	} {
		at.Report = test.report
		if done, again, err := see(at); done || again != test.want || err != nil {
			t.Errorf("%+v is looked at again after %s: done: %t, %v", test.report, again, done, err)
		}
	}
	at.Object = nil
	if done, _, err := see(at); !done || err != nil {
		t.Errorf("what is gone: done: %t, %v", done, err)
	}
	if done, _, err := f.see("removed", show)(Observation{Target: Target{Object: obj}}); !done || err != nil {
		t.Errorf("what was removed: done: %t, %v", done, err)
	}
}

// Each creation, change, or deletion is shown exactly once, even if a watch misses it.
func TestFollowCatchesUp(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*server){
		"with a watch":           func(*server) {},
		"with a watch that ends": func(s *server) { s.Expire() },
	} {
		bubble.Test(t, func(t *testing.T) {
			s := newServer(t)
			named := func(name string, desired int) *unstructured.Unstructured {
				obj := deployment(t, desired, 0)
				obj.SetName(name)
				obj.SetUID(types.UID(name))
				return obj
			}
			s.put(named("a", 0))
			s.put(named("b", 0))
			f := s.fleet(t, Extent{Depth: Reasons}, false)
			from := f.source(Target{Kind: deployments(), Namespace: "ns"})
			listed := 0
			from.Listed = func(n int) error { listed += n; return nil }
			w := begin(func() error { return f.Follow(f.ctx, from) })
			slices.Sort(f.shown)
			f.saw(t, "a ready", "b ready")
			s.put(named("a", 1))
			s.remove(named("b", 0))
			s.put(named("c", 0))
			change(s)
			pass(2 * time.Second)
			slices.Sort(f.shown)
			f.saw(t, "a progressing", "b deleted", "c ready")
			change(s)
			pass(2 * time.Second)
			f.saw(t)
			f.stop()
			if !w.over() || listed != 2 {
				t.Errorf("%s: it has ended: %t, after %d were there at first", what, w.over(), listed)
			}
			f.end()
		})
	}
}
