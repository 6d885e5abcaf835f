package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// confirmed lists the counts that will change, if there are several. If more than one becomes
// zero, it asks whether to continue, as "kubectl delete -i" does. It does not ask without a
// terminal, or with yes.
func confirmed(streams genericiooptions.IOStreams, changes []printer.CountChange, yes bool) (bool, error) {
	if len(changes) < 2 {
		return true, nil
	}
	if err := printer.CountChanges(streams.ErrOut, changes); err != nil {
		return false, err
	}
	zeros := 0
	for _, c := range changes {
		if c.After != nil && *c.After == 0 && (c.Before == nil || *c.Before != 0) {
			zeros++
		}
	}
	in, is := streams.In.(io.ReadWriter) // as a terminal is
	if yes || zeros < 2 || !is || !terminal.Is(in) || !terminal.Is(streams.ErrOut) {
		return true, nil
	}
	if _, err := fmt.Fprintf(streams.ErrOut, "This scales %d objects to zero. Do you want to continue? (y/N): ", zeros); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return true, nil
	}
	return false, escape.PrintLine(streams.ErrOut, "canceled, nothing was changed")
}
