package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// kubelets simulates the kubelets that serve logs.
type kubelets struct {
	mu   sync.Mutex
	runs map[string][]*playedRun // by pod, newest last
	// open is the number of open logs, most is the highest value of open, and asked is the number of requests.
	open, most, asked int
	refuse            error
}

type playedRun struct {
	log     []string // each line begins with its time
	ended   bool
	cut     bool // streams end after the existing lines, although the run continues
	changed chan struct{}
}

func (k *kubelets) start(pod string) *playedRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	run := &playedRun{changed: make(chan struct{})}
	if k.runs == nil {
		k.runs = map[string][]*playedRun{}
	}
	k.runs[pod] = append(k.runs[pod], run)
	return run
}

// pass waits in the simulated time of the test.
func pass(while time.Duration) { <-time.After(while) }

// change modifies a run, and wakes up its streams.
func (k *kubelets) change(run *playedRun, do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
	close(run.changed)
	run.changed = make(chan struct{})
}

// write makes a container write lines, each at a different time.
func (k *kubelets) write(run *playedRun, lines ...string) {
	for _, line := range lines {
		pass(time.Microsecond)
		k.change(run, func() { run.log = append(run.log, time.Now().UTC().Format(time.RFC3339Nano)+" "+line+"\n") })
	}
}

func (k *kubelets) openLog(ctx context.Context, r Request) (io.ReadCloser, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	runs := k.runs[r.Pod]
	n := len(runs) - 1
	if r.Previous && n >= 0 && !runs[n].ended {
		n-- // the newest run has not ended, so the previous run is the one before it
	}
	switch {
	case k.refuse != nil:
		return nil, k.refuse
	case n < 0:
		return nil, apierrors.NewBadRequest("container is waiting to start")
	}
	k.open++
	k.most = max(k.most, k.open)
	run := runs[n]
	next := 0
	if r.Tail >= 0 {
		next = max(0, len(run.log)-int(r.Tail))
	}
	if !r.Since.IsZero() {
		next = len(run.log)
		for i, line := range run.log {
			if !parseLine(line).Time.Before(r.Since) {
				next = i
				break
			}
		}
	}
	return &stream{over: ctx.Done(), k: k, run: run, next: next, follow: r.Follow}, nil
}

type stream struct {
	over   <-chan struct{}
	k      *kubelets
	run    *playedRun
	next   int
	follow bool
	left   string
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		s.k.mu.Lock()
		changed, cut := s.run.changed, s.run.cut
		if s.left == "" && s.next < len(s.run.log) {
			s.left = s.run.log[s.next]
			s.next++
		}
		over := s.run.ended || !s.follow || cut
		s.k.mu.Unlock()
		if s.left != "" {
			n := copy(p, s.left[:min(len(s.left), 7)]) // reads end at arbitrary bytes
			s.left = s.left[n:]
			return n, nil
		}
		if over {
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-s.over:
			return 0, context.Canceled
		}
	}
}

func (s *stream) Close() error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	s.k.open--
	return nil
}

type followTest struct {
	*kubelets
	*Follower
	ctx       context.Context //nolint:containedctx // ends with the test
	out, msgs *bytes.Buffer
	pods      map[string]*corev1.Pod
	unready   bool
}

// following runs a test with a new follower in a bubble with simulated time. The follower ends with the test.
func following(t *testing.T, most int, test func(*testing.T, *followTest)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		f := &followTest{kubelets: &kubelets{}, ctx: ctx, out: &bytes.Buffer{}, msgs: &bytes.Buffer{}, pods: map[string]*corev1.Pod{}}
		r := Reader{Open: f.openLog, Out: &Output{Out: f.out, ErrOut: f.msgs}, Most: most, Tail: 2}
		f.Follower = NewFollowers(1, r, Wanted{}, stop)[0]
		test(t, f)
	})
}

func (f *followTest) show() {
	report := status.Report{Metadata: status.Metadata{Name: "foo"}}
	for _, p := range f.pods {
		report.Pods = append(report.Pods, problem.Pod{Name: p.Name, UID: p.UID, Object: p, Ready: !f.unready})
	}
	f.See(f.ctx, report)
	synctest.Wait()
}

// set stores a pod whose container has this status, and passes the pods to the follower.
func (f *followTest) set(name string, s corev1.ContainerStatus) {
	f.pods[name] = with(pod(name, "main"), "main", s)
	f.show()
}

func (f *followTest) want(t *testing.T, out ...string) {
	t.Helper()
	synctest.Wait()
	if got := strings.Split(strings.TrimSuffix(f.out.String(), "\n"), "\n"); !slices.Equal(got, out) {
		t.Errorf("output = %q, want %q\nmessages:\n%s", got, out, f.msgs)
	}
}

func (f *followTest) wantMessage(t *testing.T, words string) {
	t.Helper()
	if !strings.Contains(f.msgs.String(), words) {
		t.Errorf("messages lack %q:\n%s", words, f.msgs)
	}
}

// With --failing, an old pod that stops being ready is followed from its last log lines.
func TestFollowOldPodThatFails(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.wanted = Wanted{Failing: true}
		f.write(f.start("foo-0"), "a", "b", "c")
		f.set("foo-0", isUp)
		f.unready = true
		f.show()
		f.want(t, "0 | b", "0 | c")
		if f.msgs.Len() > 0 {
			t.Errorf("unexpected messages: %s", f.msgs)
		}
	})
}

func TestFollowBeginsWithTheLastLines(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		run := f.start("foo-0")
		f.write(run, "a", "b", "c")
		f.set("foo-0", isUp)
		f.write(run, "d")
		f.want(t, "0 | b", "0 | c", "0 | d")
		if f.msgs.Len() > 0 {
			t.Errorf("unexpected messages: %s", f.msgs)
		}
	})
}

// With --tail=0, only new lines are written, even if the stream ends before the first line.
func TestFollowOnlyNewLines(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.Tail = 0
		run := f.start("foo-0")
		f.write(run, "a", "b")
		pass(time.Minute)
		f.change(run, func() { run.cut = true })
		f.set("foo-0", isUp)
		f.change(run, func() { run.cut = false })
		pass(longestPause)
		f.write(run, "c")
		f.want(t, "0 | c")
	})
}

// The log of an ended run is read to its end, even if several attempts are needed.
func TestFollowReadsRunToItsEnd(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		first := f.start("foo-0")
		f.write(first, "a")
		f.change(first, func() { first.cut = true })
		f.set("foo-0", isUp)
		f.locked(func() { f.refuse = apierrors.NewServiceUnavailable("away") })
		f.write(first, "b")
		f.change(first, func() { first.ended, first.cut = true, false })
		f.write(f.start("foo-0"), "c")
		f.set("foo-0", corev1.ContainerStatus{State: running, LastTerminationState: crashed, RestartCount: 1})
		pass(longestPause)
		f.locked(func() { f.refuse = nil })
		pass(2 * longestPause)
		f.want(t, "0 | a", "0 | b", "0 | c")
	})
}

// An interrupted stream is resumed without losing or repeating lines.
func TestFollowResumesStream(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		run := f.start("foo-0")
		f.write(run, "a", "b", "c")
		f.set("foo-0", isUp)
		for i := range 30 {
			pass(100 * time.Millisecond)
			f.write(run, fmt.Sprint(i))
			f.change(run, func() { run.cut = i%10 < 5 })
		}
		f.change(run, func() { run.cut = false })
		pass(longestPause)
		want := []string{"0 | b", "0 | c"}
		for i := range 30 {
			want = append(want, fmt.Sprintf("0 | %d", i))
		}
		f.want(t, want...)
	})
}

// A container is followed through a restart, even if its backoff was not observed.
func TestFollowThroughRestart(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		following(t, 5, func(t *testing.T, f *followTest) {
			first := f.start("foo-0")
			f.write(first, "a")
			f.set("foo-0", isUp)
			f.change(first, func() { first.cut = true })
			f.write(first, "b", "c")
			f.change(first, func() { first.ended = true })
			if seen {
				pass(time.Millisecond)
				f.set("foo-0", corev1.ContainerStatus{State: backOff, LastTerminationState: crashed})
			}
			second := f.start("foo-0")
			pass(time.Millisecond)
			f.write(second, "d")
			f.set("foo-0", corev1.ContainerStatus{State: running, LastTerminationState: crashed, RestartCount: 1})
			pass(longestPause)
			f.write(second, "e")
			f.want(t, "0 | a", "0 | b", "0 | c", "0 | d", "0 | e")
			f.wantMessage(t, "--- 0: container main exited (Error, exit code 3) and was restarted (restart 1)\n")
		})
	}
}

// The log of a replaced pod is read to its end, even after the pod is deleted. The log of the new pod
// is read from its beginning.
func TestFollowReplacement(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		old := f.start("foo-0")
		f.write(old, "a")
		f.set("foo-0", isUp)
		delete(f.pods, "foo-0")
		f.show()
		f.write(old, "b")
		f.change(old, func() { old.log, old.ended = append(old.log, "2030-01-01T00:00:00Z last words"), true })
		replacement := f.start("foo-0")
		f.write(replacement, "1", "2", "3")
		p := with(pod("foo-0", "main"), "main", corev1.ContainerStatus{})
		p.UID = "another"
		f.pods["foo-0"] = p
		f.show()
		f.pods["foo-0"] = with(p, "main", isUp)
		f.show()
		f.want(t, "0 | a", "0 | b", "0 | last words", "0 | 1", "0 | 2", "0 | 3")
		f.wantMessage(t, "--- 0: replaced by the new pod foo-0 on node n1\n")
		f.change(replacement, func() { replacement.ended = true })
		f.End(t.Context()) // the object is gone
	})
}

// Some time after a pod is deleted, the follower closes the open streams of the pod.
func TestFollowClosesStreamsOfDeletedPod(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.start("foo-0")
		f.set("foo-0", isUp)
		begun := time.Now()
		f.End(t.Context())
		if took := time.Since(begun); took != drain || f.open != 0 {
			t.Errorf("End took %s, and left %d logs open, want the drain time and none", took, f.open)
		}
	})
}

// If the containers outnumber the logs that may be open, the containers take turns, and no line is lost.
func TestFollowInTurn(t *testing.T) {
	t.Parallel()
	const pods, most, rounds = 20, 3, 10
	following(t, most, func(t *testing.T, f *followTest) {
		runs := map[string]*playedRun{}
		for i := range pods {
			name := fmt.Sprintf("foo-%d", i)
			runs[name] = f.start(name)
			f.pods[name] = with(pod(name, "main"), "main", isUp)
		}
		f.show()
		for round := range rounds {
			for _, run := range runs {
				f.write(run, fmt.Sprint(round))
			}
			pass(7 * time.Second)
		}
		pass(pods * turn)
		synctest.Wait()
		lines := map[string][]string{}
		for line := range strings.Lines(f.out.String()) {
			label, text, _ := strings.Cut(strings.TrimSpace(line), " | ")
			lines[label] = append(lines[label], text)
		}
		for i := range pods {
			if got := strings.Join(lines[fmt.Sprint(i)], " "); got != "0 1 2 3 4 5 6 7 8 9" {
				t.Errorf("pod %d: lines %s, want 0 to 9", i, got)
			}
		}
		if f.most != most {
			t.Errorf("at most %d logs were open at once, want all that are allowed", f.most)
		}
		if strings.Count(f.msgs.String(), "--max-log-requests") != 1 {
			t.Errorf("messages = %s, want one that names --max-log-requests", f.msgs)
		}
	})
}

// If the user is not allowed to read logs, following ends with an error that names the missing rule.
func TestFollowForbidden(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "foo-0", errors.New("no"))
		f.start("foo-0")
		f.set("foo-0", isUp)
		<-f.ctx.Done()
		if err := context.Cause(f.ctx); !namesMissingRule(err) {
			t.Errorf("cause of the end = %v, want a Forbidden error that names the missing rule", err)
		}
	})
}

func namesMissingRule(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "the missing rule: ")
}

// A failing request for a log is retried with growing delays, and reported only once.
func TestFollowTriesAgain(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.refuse = apierrors.NewInternalError(errors.New("its node does not answer"))
		run := f.start("foo-0")
		f.write(run, "a")
		f.set("foo-0", isUp)
		pass(time.Minute)
		synctest.Wait()
		if strings.Count(f.msgs.String(), "does not answer") != 1 || f.asked > 10 {
			t.Errorf("%d requests, messages = %s, want at most 10 requests and one message", f.asked, f.msgs)
		}
		f.locked(func() { f.refuse = nil })
		pass(longestPause)
		f.want(t, "0 | a")
	})
}

func (f *followTest) locked(do func()) {
	f.kubelets.mu.Lock()
	defer f.kubelets.mu.Unlock()
	do()
}

// Following ends if its output cannot be written.
func TestFollowEndsIfOutputIsClosed(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		f.Out.Out = closedPipe{}
		f.write(f.start("foo-0"), "a")
		f.set("foo-0", isUp)
		<-f.ctx.Done()
		if err := context.Cause(f.ctx); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("cause of the end = %v, want ErrClosedPipe", err)
		}
	})
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The container restarted twice between two reports. The kubelet still has the log of the run before the newest.
func TestFollowTwoRestarts(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		first := f.start("foo-0")
		f.write(first, "a")
		f.set("foo-0", isUp)
		f.change(first, func() { first.ended = true })
		second := f.start("foo-0")
		f.write(second, "b: fatal error")
		f.change(second, func() { second.ended = true })
		third := f.start("foo-0")
		f.write(third, "c")
		f.set("foo-0", corev1.ContainerStatus{State: running, LastTerminationState: crashed, RestartCount: 2})
		pass(2 * longestPause)
		f.want(t, "0 | a", "0 | b: fatal error", "0 | c")
	})
}

// A node's clock is 30 seconds slow. If a stream ends before the first line, the next stream must not skip this line.
func TestFollowWithoutClock(t *testing.T) {
	t.Parallel()
	following(t, 5, func(t *testing.T, f *followTest) {
		run := f.start("foo-0")
		f.change(run, func() { run.cut = true })
		f.set("foo-0", isUp)
		f.change(run, func() {
			run.cut = false
			run.log = append(run.log, time.Now().Add(-30*time.Second).UTC().Format(time.RFC3339Nano)+" first line\n")
		})
		pass(longestPause)
		f.want(t, "0 | first line")
	})
}
