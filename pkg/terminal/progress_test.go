package terminal

import (
	"bytes"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// In a file and in a log of CI, progress is a line for each thing that is new, at most one
// a second, and none that is empty.
func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, printer.Style{}, "ready")
		see := func(verdict status.Verdict, reason string) {
			s := observe.Observation{Met: verdict == status.Ready, At: time.Now()}
			s.Report = status.Report{Metadata: status.Metadata{Type: "imoocpod", Name: "foo"}, Verdict: verdict, Reason: reason}
			p.Show(s)
		}
		see(status.Progressing, "0 of 3 pods ready")
		for range 20 { // the same again and again
			<-time.After(100 * time.Millisecond)
			see(status.Progressing, "0 of 3 pods ready")
		}
		see(status.Progressing, "1 of 3 pods ready")
		see(status.Progressing, "2 of 3 pods ready") // within a second only the last is told
		<-time.After(3 * time.Second)
		p.SetLost(time.Now())
		p.SetLost(time.Now())
		<-time.After(3 * time.Second)
		p.SetLost(time.Time{})
		see(status.Ready, "3 of 3 pods ready")
		p.End()
		<-time.After(3 * time.Second) // nothing comes after the end
		const want = `imoocpod/foo: progressing: 0 of 3 pods ready
imoocpod/foo: progressing: 2 of 3 pods ready
connection to the server lost, reconnecting
connected to the server again
imoocpod/foo: ready: 3 of 3 pods ready
imoocpod/foo: ready: 3 of 3 pods ready, took 8s
`
		if out.String() != want {
			t.Errorf("it tells\n%swant\n%s", out.String(), want)
		}
	})
}

// A wait that nothing was told of says nothing at its end.
func TestProgressOfNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, printer.Style{}, "ready")
	p.SetLost(time.Now())
	p.End()
	if out.String() != "" {
		t.Errorf("it tells %q", out.String())
	}
}
