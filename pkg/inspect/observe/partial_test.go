package observe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

const hanging = 24 * time.Hour

// probe gives a pod a running container that the liveness probe has restarted the given number of times, and
// returns the pod.
func probe(t *testing.T, pod *unstructured.Unstructured, restarts int) *unstructured.Unstructured {
	t.Helper()
	containers := []any{map[string]any{"name": "main", "image": "web", "livenessProbe": map[string]any{"tcpSocket": map[string]any{"port": int64(80)}}}}
	c := map[string]any{
		"name": "main", "ready": true, "image": "web", "imageID": "", "restartCount": int64(restarts),
		"state": map[string]any{"running": map[string]any{"startedAt": "1999-12-31T23:00:00Z"}},
	}
	if restarts > 0 {
		c["lastState"] = map[string]any{"terminated": map[string]any{"exitCode": int64(1), "startedAt": "1999-12-31T22:00:00Z", "finishedAt": "1999-12-31T22:59:00Z"}}
	}
	return set(t, set(t, pod, containers, "spec", "containers"), []any{c}, "status", "containerStatuses")
}

// waitForWeb waits until the Deployment is ready. It returns the shown observations, the duration, and the error.
func waitForWeb(t *testing.T, s *server, limits Limits) (shown []Observation, took time.Duration, err error) {
	t.Helper()
	begun := time.Now()
	w := &Waiter{Clients: s.clients(), Limits: limits, Show: func(o Observation) { shown = append(shown, o) }}
	errs := w.Wait(t.Context(), []WaitTarget{{Target: web(), Conditions: []Condition{Ready()}}})
	return shown, time.Since(begun), errors.Join(errs...)
}

func reasonsOf(shown []Observation) string {
	var codes []problem.Code
	for _, o := range shown {
		codes = append(codes, o.Report.ReasonCode)
	}
	return fmt.Sprint(codes)
}

// A wait can end before the events are read, because events only explain why an object is not ready.
func TestWaitEndsBeforeEventsAreKnown(t *testing.T) {
	t.Parallel()
	// At the start, the server has not answered the list request for events. After a minute, the request has failed.
	for _, after := range []time.Duration{0, time.Minute} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			s.delay("list events", hanging)
			w := s.waitFor(t, &Waiter{Limits: Limits{Timeout: time.Hour}}, web(), Ready())
			pass(after)
			s.readyAll(t)
			changed := time.Now()
			pass(time.Minute)
			if took := w.at.Sub(changed); took < 0 || took > leastRest || w.err != nil {
				t.Errorf("the wait ended %s after the last change, which was made %s after the start, error %v", took, after, w.err)
			}
		})
	}
}

// A user without the right to list nodes can wait for a pod whose node is gone. The node would only explain
// why the pod is not ready.
func TestWaitWithoutTheRightToListNodes(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.Remove("nodes", "", "node-1")
		s.forbid("list|watch nodes")
		w := s.waitFor(t, &Waiter{Limits: Limits{Timeout: time.Hour}}, web(), Ready())
		pass(2 * time.Minute)
		s.readyAll(t)
		changed := time.Now()
		pass(time.Minute)
		if took := w.at.Sub(changed); took < 0 || took > leastRest || w.err != nil {
			t.Errorf("the wait ended %s after the last change, error %v", took, w.err)
		}
		if s.count("list nodes") == 0 {
			t.Error("no list request for nodes, want at least one")
		}
	})
}

// The error of a failed wait includes the reasons from events, unless the list of events hangs. Nothing is
// shown until the events are known or a second has passed.
func TestFinalErrorHasReasons(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		delay  time.Duration
		limits Limits
		want   error
		has    bool
		took   time.Duration
		shown  string
	}{
		{"failed", 300 * time.Millisecond, Limits{Timeout: time.Hour, FailFast: true}, outcome.ErrFailed, true, 300 * time.Millisecond, "[VolumeNotMounted]"},
		{"failed, and events are slow", 5 * time.Second, Limits{Timeout: time.Hour, FailFast: true}, outcome.ErrFailed, true, 5 * time.Second, "[PodsStarting VolumeNotMounted]"},
		{"timeout, events are known", 300 * time.Millisecond, Limits{Timeout: time.Minute}, outcome.ErrTimeout, true, time.Minute, "[VolumeNotMounted]"},
		{"timeout before events are known", 300 * time.Millisecond, Limits{Timeout: 100 * time.Millisecond}, outcome.ErrTimeout, true, 300 * time.Millisecond, "[]"},
		{"timeout, the list of events hangs", hanging, Limits{Timeout: 20 * time.Second}, outcome.ErrTimeout, false, 20*time.Second + explaining, "[PodsStarting]"},
		{"a single look", 300 * time.Millisecond, Limits{Once: true}, outcome.ErrTimeout, true, 300 * time.Millisecond, "[VolumeNotMounted]"},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			s.put(event(t, "mount", "Pod", "web-1-1", "FailedMount", "no such secret"))
			s.delay("list events", test.delay)
			shown, took, err := waitForWeb(t, s, test.limits)
			if !errors.Is(err, test.want) || strings.Contains(err.Error(), "no such secret") != test.has {
				t.Errorf("%s: error = %v", test.name, err)
			}
			if took < test.took || took > test.took+100*time.Millisecond {
				t.Errorf("%s: the wait took %s", test.name, took)
			}
			if codes := reasonsOf(shown); codes != test.shown {
				t.Errorf("%s: reason codes shown = %s", test.name, codes)
			}
		})
	}
}

// After a probe has killed a container, the pod is ready until the container has stopped. Only events
// show that the container was killed, so a wait must read the events before it ends.
func TestProbedPodsAreReadyWhenEventsAreKnown(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		s.put(probe(t, podOf(t, "web-1", 1, true), 0))
		s.put(event(t, "fine", "Pod", "web-1-1", corev1.EventTypeNormal, "it is fine"))
		s.put(event(t, "kill", "Pod", "web-1-1", problem.EventKilling, "Container main failed liveness probe, will be restarted"))
		s.delay("list events", 3*time.Second)
		shown, _, err := waitForWeb(t, s, Limits{Timeout: time.Minute})
		if !errors.Is(err, outcome.ErrTimeout) {
			t.Errorf("error = %v, want ErrTimeout", err)
		}
		r := s.follower(t, closely(), true, false)
		r.follow(t.Context(), web())
		pass(time.Minute)
		for _, shown := range [][]Observation{shown, r.seen()} {
			if codes := reasonsOf(shown); codes != "[ProbeFailed]" {
				t.Errorf("reason codes shown = %s, want [ProbeFailed]", codes)
			}
		}
	})
}

// With many objects, each object is first shown when its events are known, or after one second.
func TestFleetShowsReasons(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]string{300 * time.Millisecond: "[VolumeNotMounted]", 5 * time.Second: "[PodsStarting VolumeNotMounted]"} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			s.put(event(t, "mount", "Pod", "web-1-1", "FailedMount", "no such secret"))
			s.delay("list events", delay)
			r := s.follower(t, closely(), true, false)
			r.follow(t.Context(), web())
			pass(time.Minute)
			if codes := reasonsOf(r.seen()); codes != want {
				t.Errorf("events delayed by %s: reason codes shown = %s", delay, codes)
			}
		})
	}
}
