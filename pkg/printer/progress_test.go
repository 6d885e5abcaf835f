package printer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A story of two objects, with the time in seconds: what is told on the way, and
// what a terminal shows.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := Progress{Goal: "ready"}
	var b strings.Builder
	begun := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
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
		p.See(status.Report{
			Metadata: status.Metadata{Type: "imoocpod", Name: name}, Verdict: verdict,
			Reason:   fmt.Sprintf("%d of %d pods ready", ready, desired),
			Replicas: status.Replicas{Desired: desired, Current: current, Ready: ready},
		}, done, at(seconds))
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
	gone.See(status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "up"}, Verdict: status.Progressing, Reason: "it is being deleted"}, false, at(0))
	frame(&gone, 9, 60)

	// Nobody reconciles it: the reason, the clock and what to do stand in 80 columns.
	alone := Progress{Goal: "ready"}
	nobody := seen(3, 0, 0)
	nobody.Object.ObservedGeneration = 0
	alone.See(status.NewReport(nobody), false, at(0))
	frame(&alone, 75, 80)
	frame(&alone, 75, 40)

	// On the way down, what is removed counts.
	down := Progress{Goal: "ready"}
	down.See(status.NewReport(seen(1, 4, 1)), false, at(0))
	down.See(status.NewReport(seen(1, 3, 1)), false, at(2))
	frame(&down, 2, 80)

	// Objects of one name in two namespaces are told apart.
	both := Progress{Goal: "ready"}
	both.See(status.NewReport(seen(1, 1, 1)), true, at(0))
	other := seen(1, 1, 0)
	other.Object.Namespace = "team-b"
	both.See(status.NewReport(other), false, at(1))
	line, _ := both.Line(at(3))
	fmt.Fprintf(&b, "       %s\n", line)
	golden(t, "progress", b.String())

	// Neither wide characters nor what a container said break the line.
	wide := Progress{Goal: "ready"}
	wide.See(status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "up"}, Verdict: status.Failed, Reason: "配置文件不存在\x1b[2J：/etc/应用/设置.yaml"}, false, at(0))
	if bar := wide.Frame(40, Style{}, at(9))[0]; ansi.StringWidth(bar) > 40 || ansi.StringWidth(bar) < 39 || strings.Contains(bar, "\x1b") {
		t.Errorf("the bar is %q, %d wide", bar, ansi.StringWidth(bar))
	}
}

// A wait sums up what came of it when all objects are ready, and says nothing else.
func TestSummary(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	see := func(p *Progress, name string, done bool) {
		p.See(status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: name}, Reason: "1 of 1 pods ready"}, done, begun)
	}
	for name, test := range map[string]struct {
		goal string
		done []bool
		want string
	}{
		"nothing was seen":        {"ready", nil, ""},
		"one is ready":            {"ready", []bool{true}, "imoocpod/0: ready: 1 of 1 pods ready, took 5s"},
		"two are ready":           {"ready", []bool{true, true}, "2 of 2 objects are ready, took 5s"},
		"one of two is not ready": {"ready", []bool{true, false}, ""},
		"it is gone":              {"gone", []bool{true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Progress{Goal: test.goal}
			for i, done := range test.done {
				see(&p, fmt.Sprint(i), done)
			}
			if got := p.Summary(begun.Add(5 * time.Second)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// The object that is shown is the one that needs somebody most: not one that is done, the
// one that changed last of several that are alike, and otherwise the first by name.
func TestWorst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		verdicts []status.Verdict
		want     string
	}{
		"the worst verdict":                {[]status.Verdict{status.Progressing, status.Failed, status.Progressing}, "1"},
		"of those alike the last":          {[]status.Verdict{status.Progressing, status.Progressing, status.Progressing}, "2"},
		"none but the last is done":        {[]status.Verdict{status.Progressing, status.Progressing, status.Ready}, "0"},
		"the last is alike, not the first": {[]status.Verdict{status.Ready, status.Progressing, status.Progressing}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // the order of a map differs
				p := Progress{Goal: "ready"}
				for i, verdict := range test.verdicts {
					p.See(status.Report{Metadata: status.Metadata{Name: fmt.Sprint(i)}, Verdict: verdict}, verdict == status.Ready, now)
				}
				if got := p.worst(); !strings.HasSuffix(got.Name, test.want) {
					t.Fatalf("%s, want %s", got.Name, test.want)
				}
			}
		})
	}
}
