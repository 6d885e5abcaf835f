package cmd

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// On a terminal, the user must confirm a change that scales several objects to zero.
func TestConfirm(t *testing.T) {
	t.Parallel()
	zero, two := new(int32(0)), new(int32(2))
	stop, set, start := printer.CountChange{Before: two, After: zero}, printer.CountChange{After: zero}, printer.CountChange{Before: zero, After: two}
	type changes = []printer.CountChange
	for _, test := range []struct {
		of           changes
		yes, dryRun  string
		answer       string
		asks, agreed bool
	}{
		{changes{stop, set, start, {Before: zero, After: zero}, {Before: two}}, "", "none", " Yes \n", true, true},
		{changes{stop, stop}, "", "none", "y\n", true, true},
		{changes{stop, stop}, "", "none", "\x04", true, false}, // the end of the input
		{changes{stop, start}, "", "none", "n\n", false, true},
		{changes{stop, stop}, "yes", "none", "n\n", false, true},
		{changes{stop, stop}, "", "server", "n\n", false, true},
	} {
		tty, side, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		c := &changer{cluster: &cluster{commonOptions: commonOptions{streams: genericiooptions.IOStreams{In: side, ErrOut: side}}}, flags: &changeFlags{dryRun: dryRun(test.dryRun)}}
		_, _ = io.WriteString(tty, test.answer)
		agreed, err := c.confirm(test.of, test.yes != "")
		_ = side.Close()
		out, _ := io.ReadAll(tty)
		_ = tty.Close()
		if asks := strings.Contains(string(out), "This scales 2 objects to zero. Do you want to continue? (y/N): "); err != nil || agreed != test.agreed || asks != test.asks {
			t.Errorf("%+v: asked %t, agreed %t, error %v, output %q", test, asks, agreed, err, out)
		}
	}
}
