package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// atEveryRequest runs a command once, undisturbed, and counts its requests. Then it runs the command again
// for each request, and calls disturb before that request. Watches and discovery do not count.
func atEveryRequest(t *testing.T, prepare []string, line, image string, replicas int, disturb func(s *apiserver.Server), check func(t *testing.T, s *apiserver.Server, disturbed bool, o result) error) {
	t.Helper()
	for k, total := 0, 1; k <= total; k++ {
		bubble.Test(t, func(t *testing.T) {
			s := apiserver.New(t)
			s.CreateCRDs()
			play.Cluster(s)
			play.Operator(s, "imoocpods", "ImoocPod")
			s.CreateYAML(fmt.Sprintf("{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: %d, template: {spec: {containers: [{name: main, image: %s}]}}}}", replicas, image))
			<-time.After(time.Minute)
			for _, line := range prepare {
				if o := runOn(t.Context(), s, line); o.code != exitDone {
					t.Fatalf("preparation %q failed: %+v", line, o)
				}
			}
			var requests atomic.Int64
			match := func(r apiserver.Request) bool { return r.Resource != "" && r.Verb != "watch" }
			s.Fail(match, apiserver.Fault{Before: func() {
				if requests.Add(1) == int64(k) {
					disturb(s)
				}
			}})
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			o := runOn(ctx, s, line)
			n := int(requests.Load())
			if k == 0 {
				total = n
			}
			if err := check(t, s, k > 0 && n >= k, o); err != nil {
				t.Errorf("disturbed before request %d of %d (0: undisturbed) of %q: %v\n%+v", k, total, line, err, o)
			}
		})
	}
}

// rival sets the replica count to 7 as another client.
func rival(s *apiserver.Server) {
	s.As("rival").Update("imoocpods", "default", "foo", func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, int64(7), "spec", "replicas")
	})
}

func countOf(s *apiserver.Server) int64 {
	n, _, _ := unstructured.NestedInt64(s.Get("imoocpods", "default", "foo").Object, "spec", "replicas")
	return n
}

// Neither a step nor a revert overwrites a replica count that another client sets during the command. Only a
// command that reads the new count at its start can change it.
func TestStepsWithAnotherWriter(t *testing.T) {
	t.Parallel()
	for image, undisturbed := range map[string]int64{"web": 2, "pull": 0} {
		atEveryRequest(t, nil, "scale foo --replicas 2 --step 1 --on-failure revert --fail-after 1s", image, 0, rival, func(_ *testing.T, s *apiserver.Server, disturbed bool, r result) error {
			want := []int64{undisturbed}
			if disturbed {
				want = []int64{7}
				if strings.Contains(r.stderr, "imoocpod/foo: 7 → ") {
					want = append(want, 2)
				}
			}
			if !slices.Contains(want, countOf(s)) {
				return fmt.Errorf("replica count = %d, want one of %v", countOf(s), want)
			}
			return nil
		})
	}
}

// Neither a step nor a revert changes another object that gets the name of the first during the command. Only a command
// that reads the new object at its start can change it.
func TestStepsWithAnotherObject(t *testing.T) {
	t.Parallel()
	var was int64
	replace := func(s *apiserver.Server) {
		obj := s.Get("imoocpods", "default", "foo")
		was = countOf(s)
		s.Remove("imoocpods", "default", "foo")
		obj.SetUID("another")
		obj.SetResourceVersion("")
		s.Create(obj)
	}
	atEveryRequest(t, nil, "scale foo --replicas 4 --step 2 --on-failure revert --fail-after 1s", "pull", 1, replace, func(_ *testing.T, s *apiserver.Server, disturbed bool, _ result) error {
		if disturbed && was > 1 && countOf(s) != was {
			return fmt.Errorf("replica count of the other object = %d, want %d", countOf(s), was)
		}
		return nil
	})
}

// If a scale in steps loses the server at any request, as if the command were killed, a second run
// completes the change.
func TestStepsKilled(t *testing.T) {
	t.Parallel()
	var restore func()
	cut := func(s *apiserver.Server) {
		restore = s.Fail(func(apiserver.Request) bool { return true }, apiserver.Fault{Drop: true})
	}
	const line = "scale foo --replicas 3 --step 1"
	atEveryRequest(t, nil, line, "web", 0, cut, func(t *testing.T, s *apiserver.Server, disturbed bool, _ result) error {
		if disturbed {
			restore()
		}
		if r := runOn(t.Context(), s, line); r.code != exitDone || countOf(s) != 3 {
			return fmt.Errorf("second run: %+v, replica count %d, want 3", r, countOf(s))
		}
		return nil
	})
}

// A replica count that another client sets is not lost: park keeps or saves it, and unpark keeps it.
func TestParkWithAnotherWriter(t *testing.T) {
	t.Parallel()
	for verb, prepare := range map[string][]string{"park": nil, "unpark": {"park foo"}} {
		atEveryRequest(t, prepare, verb+" foo", "web", 5, rival, func(_ *testing.T, s *apiserver.Server, disturbed bool, _ result) error {
			saved, _, err := facts.Parked(s.Get("imoocpods", "default", "foo"))
			if err == nil && disturbed && countOf(s) != 7 && (verb == "unpark" || saved == nil || saved.Replicas != 7) {
				err = fmt.Errorf("replica count = %d, saved %+v: the 7 of the other client is lost", countOf(s), saved)
			}
			return err
		})
	}
}

// If another client changes the object before the write, an undo does not show the same change again.
func TestUndoShowsTheChangeOnce(t *testing.T) {
	t.Parallel()
	atEveryRequest(t, []string{"set image foo web:2 --wait --timeout 5m"}, "undo foo", "web", 2, rival, func(_ *testing.T, _ *apiserver.Server, _ bool, r result) error {
		if n := strings.Count(r.stderr, "(to be written)"); r.code != exitDone || n != 1 {
			return fmt.Errorf("the change was shown %d times, want once", n)
		}
		return nil
	})
}
