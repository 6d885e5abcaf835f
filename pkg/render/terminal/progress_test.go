package terminal

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// Without a terminal, Progress prints a line about an object at most every three seconds, and a summary at the end.
func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, printer.Style{}, "ready")
		see := func(verdict status.Verdict, ready int32) {
			o := observe.Observation{Met: verdict == status.Ready, At: time.Now()}
			o.Report = status.Report{
				Metadata: status.Metadata{Type: "imoocpod", Name: "foo"}, Verdict: verdict,
				Reason: fmt.Sprintf("%d of 3 pods ready", ready), Replicas: status.Replicas{Desired: 3, Ready: ready},
			}
			p.Show(o)
		}
		see(status.Progressing, 0)
		for range 20 { // no change
			<-time.After(100 * time.Millisecond)
			see(status.Progressing, 0)
		}
		see(status.Progressing, 1)
		see(status.Progressing, 2) // within three seconds, only the last change is printed
		<-time.After(3 * time.Second)
		p.SetLost(time.Now())
		p.SetLost(time.Now())
		<-time.After(3 * time.Second)
		p.SetLost(time.Time{})
		see(status.Ready, 3)
		p.End()
		<-time.After(3 * time.Second) // nothing is printed after the end
		const want = `imoocpod/foo: progressing: 0 of 3 pods ready
imoocpod/foo: progressing: 2 of 3 pods ready
connection to the server lost, reconnecting
connected to the server again
imoocpod/foo: ready: 3 of 3 pods ready, took 8s
`
		if out.String() != want {
			t.Errorf("output:\n%swant\n%s", out.String(), want)
		}
	})
}

// End prints nothing if no object was shown.
func TestProgressOfNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, printer.Style{}, "ready")
	p.SetLost(time.Now())
	p.End()
	if out.String() != "" {
		t.Errorf("output = %q, want none", out.String())
	}
}

// End prints a summary even if no line of progress was printed.
func TestProgressOfAMoment(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, printer.Style{}, "ready")
		p.Show(observe.Observation{Met: true, At: time.Now(), Report: status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "foo"}, Verdict: status.Ready, Reason: "3 of 3 pods ready"}})
		p.End()
		if want := "imoocpod/foo: ready: 3 of 3 pods ready, took 0s\n"; out.String() != want {
			t.Errorf("output = %q, want %q", out.String(), want)
		}
	})
}
