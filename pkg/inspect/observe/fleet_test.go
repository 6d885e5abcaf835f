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

// fleetOf follows objects, and keeps what is shown of them and why it fails.
type fleetOf struct {
	*Fleet

	stop    func()
	running sync.WaitGroup
	shown   []string
	failed  []error
	refuses error
}

func (s *apiServer) fleet(t *testing.T, closely bool) *fleetOf {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	f := &fleetOf{stop: stop}
	var err error
	show := func(r status.Report) error {
		f.shown = append(f.shown, fmt.Sprint(r.Metadata.Name, " ", r.Verdict))
		return f.refuses
	}
	f.Fleet, err = NewFleet(ctx, &f.running, s.factory(t), nil, true, closely, show, func(err error) { f.failed = append(f.failed, err) })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleetOf) put(obj *unstructured.Unstructured) {
	target := web()
	if obj.GetKind() == "ImoocPod" {
		target = foo()
	}
	target.Name, target.Object = obj.GetName(), obj
	f.Put(target)
	pass(time.Second)
}

// saw reports what was shown since it was asked last.
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
}

// An object is shown when it comes, when it has changed, and when what is below it has, and
// no more once it is removed.
func TestFleetShowsChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, true)
		web := s.all("deployments")[0]
		f.put(web)
		f.saw(t, "web progressing")
		f.put(web) // the same version
		f.saw(t)
		s.do(func() { s.put("pods", podOf(t, "web-1", 1, false)) }) // which says the same
		pass(time.Second)
		f.saw(t)
		s.do(func() { s.put("pods", broken(t, 1)) })
		pass(time.Second)
		f.saw(t, "web failed")
		other := deployment(t, 0, 0)
		other.SetName("zero")
		other.SetUID("zero")
		f.put(other)
		f.saw(t, "zero ready")
		s.readyAll(t)
		pass(time.Second) // its pods are followed, and it is not
		f.shown = nil
		f.put(s.all("deployments")[0])
		f.saw(t, "web ready")
		f.Remove("web")
		f.Remove("web") // which is not there any more
		s.do(func() { s.put("pods", broken(t, 1)) })
		pass(time.Minute)
		f.saw(t)
		f.put(s.all("deployments")[0]) // it comes again
		if f.shown == nil {
			t.Error("what comes again is not shown")
		}
		f.end()
	})
}

// What changes after a while is shown at once, and what changes all the time four times a
// second, the last change included.
func TestFleetShowsNoMoreThanPeopleSee(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, true)
		f.put(s.all("deployments")[0])
		f.shown = nil
		for i := range 95 {
			obj := deployment(t, 2, i%2)
			obj.SetResourceVersion(fmt.Sprint(100 + i))
			f.Put(Target{Kind: web().Kind, Namespace: "ns", Name: "web", Object: obj})
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

// What is wrong with following an object is told, and not that the command ended.
func TestFleetFails(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.forbidden["list pods"] = true
		f := s.fleet(t, true)
		f.put(s.all("deployments")[0])
		if len(f.failed) != 1 || !apierrors.IsForbidden(f.failed[0]) {
			t.Errorf("it fails with %v", f.failed)
		}
		f.end()
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, true)
		f.refuses = errors.New("the pipe is closed")
		f.put(s.all("deployments")[0])
		if len(f.failed) != 1 || !errors.Is(f.failed[0], f.refuses) {
			t.Errorf("it fails with %v", f.failed)
		}
		f.end()
	})
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		f := s.fleet(t, true)
		f.put(s.all("deployments")[0])
		f.end()
		f.saw(t, "web progressing") // and that it ended is no failure
	})
	nowhere := newAPIServer().factory(t)
	*nowhere.Flags.APIServer = "http://[broken"
	var running sync.WaitGroup
	if _, err := NewFleet(t.Context(), &running, nowhere, nil, true, true, func(status.Report) error { return nil }, func(error) {}); err == nil {
		t.Error("it needs no server")
	}
}

// What stands below an object that says of itself that it is ready is not read, unless
// somebody looks closely. Of a kind of others, that word is not enough.
func TestFleetReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	set := parse(t, "{apiVersion: example.com/v1, kind: Set, metadata: {name: x, namespace: ns, uid: x, generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1, replicas: 0, readyReplicas: 0}}")
	for what, test := range map[string]struct {
		target  Target
		obj     *unstructured.Unstructured
		closely bool
		pods    int // lists of them
	}{
		"a Deployment that is ready":          {web(), deployment(t, 2, 2), false, 0},
		"a Deployment that is not":            {web(), deployment(t, 2, 1), false, 1},
		"a Deployment that is ready, closely": {web(), deployment(t, 2, 2), true, 1},
		"an ImoocPod that is ready":           {foo(), imoocPod(t, 2, 2), false, 0},
		"an ImoocPod that is ready, closely":  {foo(), imoocPod(t, 2, 2), true, 1},
		"a Set that is ready":                 {Target{Kind: kindOf("sets"), Namespace: "ns", Name: "x"}, set, false, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			s.do(func() { c := scaleOf(t, 0, 0, "app=x"); s.put(c.resource, c.object) })
			f := s.fleet(t, test.closely)
			test.target.Object = test.obj
			f.Put(test.target)
			pass(time.Second)
			if len(f.shown) == 0 || len(f.failed) > 0 || s.requests["list pods"] != test.pods {
				t.Errorf("%s: it shows %q, %v, after %d lists of pods, want %d", what, f.shown, f.failed, s.requests["list pods"], test.pods)
			}
			f.end()
		})
	}
}

// What is doubtful is looked at again soon, and what time alone may change when it does.
func TestFleetLooksAgain(t *testing.T) {
	t.Parallel()
	obj := deployment(t, 1, 1)
	f := &Fleet{show: func(status.Report) error { return nil }, members: map[types.UID]*watcher{obj.GetUID(): {}}}
	see := f.see(obj.GetUID())
	at := Observation{Target: Target{Object: obj}}
	for _, test := range []struct {
		report status.Report
		want   time.Duration
	}{
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second},
		{status.Report{Recheck: 7 * time.Second}, 7 * time.Second}, // which shows nothing
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
	if done, _, err := f.see("removed")(Observation{Target: Target{Object: obj}}); !done || err != nil {
		t.Errorf("what was removed: done: %t, %v", done, err)
	}
}
