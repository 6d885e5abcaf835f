package printer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

func waitedFor(name string, verdict status.Verdict, desired, current, ready int32) status.Report {
	return status.Report{
		Metadata: status.Metadata{Type: "imoocpod", Name: name}, Verdict: verdict,
		Reason:   fmt.Sprintf("%d of %d pods ready", ready, desired),
		Replicas: status.Replicas{Desired: desired, Current: current, Ready: ready},
	}
}

// TestProgress compares the lines and frames of several waits with a golden file.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := Progress{Goal: "ready"}
	var b strings.Builder
	at := func(seconds float64) time.Time { return now.Add(time.Duration(seconds * float64(time.Second))) }
	frame := func(p *Progress, seconds float64, width int) {
		for _, text := range p.Frame(width, Style{}, at(seconds)) {
			fmt.Fprintf(&b, "       %s\n", text)
		}
	}
	show := func(seconds float64) {
		line, again := p.Line(at(seconds))
		fmt.Fprintf(&b, "%4.1fs  %s (again in %s)\n", seconds, line, again)
		frame(&p, seconds, 200)
	}
	see := func(seconds float64, name string, verdict status.Verdict, desired, current, ready int32, done bool) {
		p.See(waitedFor(name, verdict, desired, current, ready), done, time.Time{}, at(seconds))
		show(seconds)
	}
	see(0, "up", status.NotReconciled, 8, 0, 0, false)
	see(0.2, "up", status.Progressing, 8, 2, 1, false)
	show(1)
	show(1.1) // nothing is new
	see(2, "up", status.Progressing, 8, 8, 4, false)
	see(2.5, "down", status.Progressing, 1, 5, 1, false)
	see(3, "down", status.Progressing, 1, 3, 1, false)
	see(4, "up", status.Failed, 8, 8, 6, false)
	see(5, "down", status.Ready, 1, 1, 1, true)
	see(9, "up", status.Ready, 8, 8, 8, true)
	frame(&p, 9, 60)
	p.Lost = at(9)
	frame(&p, 21, 80)
	fmt.Fprintf(&b, "       %s\n", p.Summary(at(21)))

	gone := Progress{Goal: "gone"}
	gone.See(status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "up"}, Verdict: status.Progressing, Reason: "it is being deleted"}, false, time.Time{}, at(0))
	frame(&gone, 9, 60)

	// The clock, the reason, and the hint about a missing controller fit into 80 columns.
	alone := Progress{Goal: "ready"}
	nobody := seen(3, 0, 0)
	nobody.Object.ObservedGeneration = 0
	alone.See(status.NewReport(nobody), false, time.Time{}, at(0))
	frame(&alone, 75, 80)
	frame(&alone, 75, 40)

	// During a scale-down, the frame shows the number of existing pods.
	down := Progress{Goal: "ready"}
	down.See(status.NewReport(seen(1, 4, 1)), false, time.Time{}, at(0))
	down.See(status.NewReport(seen(1, 3, 1)), false, time.Time{}, at(2))
	frame(&down, 2, 80)

	// The line distinguishes objects with the same name in two namespaces.
	both := Progress{Goal: "ready"}
	both.See(status.NewReport(seen(1, 1, 1)), true, time.Time{}, at(0))
	other := seen(1, 1, 0)
	other.Object.Namespace = "team-b"
	both.See(status.NewReport(other), false, time.Time{}, at(1))
	line, _ := both.Line(at(3))
	fmt.Fprintf(&b, "       %s\n", line)
	golden(t, "progress", b.String())

	// Wide characters and escape sequences in a reason do not make the line wider than the terminal.
	wide := Progress{Goal: "ready"}
	wide.See(status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "up"}, Verdict: status.Failed, Reason: "配置文件不存在\x1b[2J：/etc/应用/设置.yaml"}, false, time.Time{}, at(0))
	if bar := wide.Frame(40, Style{}, at(9))[0]; ansi.StringWidth(bar) > 40 || ansi.StringWidth(bar) < 39 || strings.Contains(bar, "\x1b") {
		t.Errorf("bar = %q, %d columns wide, want 39 or 40, and no escape sequence", bar, ansi.StringWidth(bar))
	}
}

// A problem is printed once for each generation and verdict, even if its message and the counts
// change often, as in a crash loop.
func TestLinesOfACrashLoop(t *testing.T) {
	t.Parallel()
	var p Progress
	var printed []string
	see := func(seconds int, generation int64, r status.Report) {
		now := now.Add(time.Duration(seconds) * time.Second)
		r.Metadata = status.Metadata{Type: "imoocpod", Name: "foo", Generation: generation}
		givesUp := time.Time{}
		if r.Verdict == status.Failed {
			givesUp = now.Add(20 * time.Second)
		}
		p.See(r, false, givesUp, now)
		for range 3 {
			if line, again := p.Line(now); line != "" {
				printed = append(printed, fmt.Sprintf("%2ds %s", seconds, line))
			} else if again > 0 {
				now = now.Add(again)
			}
		}
	}
	starting := waitedFor("foo", status.Progressing, 1, 0, 0)
	starting.ReasonCode = problem.CodePodsStarting
	crash := func(verdict status.Verdict, words string) status.Report {
		return status.Report{Verdict: verdict, ReasonCode: problem.CodeCrashLoop, Reason: words, Problems: []problem.Problem{{Code: problem.CodeCrashLoop}}, Replicas: status.Replicas{Desired: 1}}
	}
	see(0, 1, starting)
	for i := range 10 {
		see(10+20*i, 1, crash(status.Progressing, fmt.Sprintf("0 of 1 pods ready; main crashes: %d restarts", i)))
		see(20+20*i, 1, crash(status.Failed, fmt.Sprintf("main crashes: %d restarts", i)))
	}
	see(300, 2, starting) // another image
	see(310, 2, crash(status.Failed, "main crashes: no restart yet"))
	want := []string{
		" 0s imoocpod/foo: progressing: 0 of 1 pods ready",
		"10s imoocpod/foo: progressing: 0 of 1 pods ready; main crashes: 0 restarts",
		"20s imoocpod/foo: failed, gives up in 20s: main crashes: 0 restarts",
		"300s imoocpod/foo: progressing: 0 of 1 pods ready",
		"310s imoocpod/foo: failed, gives up in 20s: main crashes: no restart yet",
	}
	if !slices.Equal(printed, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(printed, "\n"), strings.Join(want, "\n"))
	}
}

// A line that is delayed by the rate limit shows the newest state when it is printed.
func TestLineShowsNewestState(t *testing.T) {
	t.Parallel()
	var p Progress
	see := func(ready int32, at time.Duration) (string, time.Duration) {
		p.See(waitedFor("foo", status.Progressing, 9, 0, ready), false, time.Time{}, now.Add(at))
		return p.Line(now.Add(at))
	}
	for _, step := range []struct {
		ready int32
		at    time.Duration
		line  string
		again time.Duration
	}{
		{0, 0, "", patience},
		{1, patience, "imoocpod/foo: progressing: 1 of 9 pods ready", 0},
		{2, patience + time.Second, "", pace - time.Second},
		{1, patience + time.Second, "", 0}, // already printed
		{3, patience + 2*time.Second, "", pace - 2*time.Second},
		{4, patience + pace, "imoocpod/foo: progressing: 4 of 9 pods ready", 0},
	} {
		if line, again := see(step.ready, step.at); line != step.line || again != step.again {
			t.Errorf("%d ready at %s: %q, again in %s, want %q, again in %s", step.ready, step.at, line, again, step.line, step.again)
		}
	}
}

// The frame of a failed object shows the time until the wait gives up.
func TestFrameShowsTimeToGiveUp(t *testing.T) {
	t.Parallel()
	failed := status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "foo"}, Verdict: status.Failed, Reason: "it crashes"}
	var p Progress
	p.See(failed, false, now.Add(20*time.Second), now)
	for after, want := range map[time.Duration]string{0: "0s  imoocpod/foo: failed, gives up in 20s: it crashes", 4 * time.Second: "4s  imoocpod/foo: failed, gives up in 16s: it crashes", time.Minute: "60s  imoocpod/foo: failed, gives up in 0s: it crashes"} {
		if got := p.Frame(200, Style{}, now.Add(after)); !slices.Equal(got, []string{want}) {
			t.Errorf("after %s: frame %q, want %q", after, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		goal string
		done []bool
		want string
	}{
		"nothing was seen":         {"ready", nil, ""},
		"one is ready":             {"ready", []bool{true}, "imoocpod/0: ready: 1 of 1 pods ready, took 5s"},
		"two are ready":            {"ready", []bool{true, true}, "2 of 2 objects are ready, took 5s"},
		"one of two is not ready":  {"ready", []bool{true, false}, ""},
		"one is gone":              {"gone", []bool{true}, "imoocpod/0: gone, took 5s"},
		"two are gone":             {"gone", []bool{true, true}, "2 of 2 objects are gone, took 5s"},
		"a goal without a summary": {"Available", []bool{true}, ""},
	} {
		p := Progress{Goal: test.goal}
		for i, done := range test.done {
			p.See(waitedFor(fmt.Sprint(i), status.Ready, 1, 1, 1), done, time.Time{}, now)
		}
		if got := p.Summary(now.Add(5 * time.Second)); got != test.want {
			t.Errorf("%s: summary %q, want %q", name, got, test.want)
		}
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verdicts []status.Verdict
		want     string
	}{
		"the worst verdict":                         {[]status.Verdict{status.Progressing, status.Failed, status.Progressing}, "1"},
		"equal verdicts: the last":                  {[]status.Verdict{status.Progressing, status.Progressing, status.Progressing}, "2"},
		"the last is done: the first of the others": {[]status.Verdict{status.Progressing, status.Progressing, status.Ready}, "0"},
		"the first is done: the last of the others": {[]status.Verdict{status.Ready, status.Progressing, status.Progressing}, "2"},
	} {
		for range 20 { // because the order of a map is random
			p := Progress{Goal: "ready"}
			for i, verdict := range test.verdicts {
				p.See(status.Report{Metadata: status.Metadata{Name: fmt.Sprint(i)}, Verdict: verdict}, verdict == status.Ready, time.Time{}, now)
			}
			if got := p.worst(); !strings.HasSuffix(got.Name, test.want) {
				t.Fatalf("%s: worst object %s, want %s", name, got.Name, test.want)
			}
		}
	}
}
