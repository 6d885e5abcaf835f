package printer

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// Checks writes a line for each check, followed by the commands that fix its problem. If several checks have the
// same commands, the commands follow only the last of these checks.
func Checks(w io.Writer, checks []check.Result, style Style) error {
	width := 0
	for _, r := range checks {
		width = max(width, len(escape.Cell(r.Name)))
	}
	signs := map[check.State]string{
		check.Passed:   style.paint(green, style.sign("✔", "ok  ")),
		check.Failed:   style.paint(red, style.sign("✖", "FAIL")),
		check.Optional: style.paint(dim, style.sign("○", "-   ")),
		check.Unknown:  style.paint(yellow, style.sign("?", "?   ")),
	}
	b := bufio.NewWriter(w)
	for i, r := range checks {
		_, _ = fmt.Fprintf(b, "%s %-*s  %s\n", signs[r.State], width, escape.Cell(r.Name), oneLine(r.Message))
		if slices.ContainsFunc(checks[i+1:], func(later check.Result) bool { return slices.Equal(later.Fix, r.Fix) }) {
			continue
		}
		for _, command := range r.Fix {
			_, _ = fmt.Fprintf(b, "    %s\n", style.paint(cyan, oneLine(command)))
		}
	}
	return b.Flush()
}
