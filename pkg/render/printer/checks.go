package printer

import (
	"fmt"
	"io"
	"slices"
	"strings"

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
	var b strings.Builder
	for i, r := range checks {
		sign := style.paint(green, style.sign("✔", "ok  "))
		switch r.State {
		case check.Failed:
			sign = style.paint(red, style.sign("✖", "FAIL"))
		case check.Optional:
			sign = style.paint(dim, style.sign("○", "-   "))
		case check.Unknown:
			sign = style.paint(yellow, style.sign("?", "?   "))
		}
		fmt.Fprintf(&b, "%s %-*s  %s\n", sign, width, escape.Cell(r.Name), oneLine(r.Message))
		if slices.ContainsFunc(checks[i+1:], func(later check.Result) bool { return slices.Equal(later.Fix, r.Fix) }) {
			continue
		}
		for _, command := range r.Fix {
			fmt.Fprintf(&b, "    %s\n", style.paint(cyan, oneLine(command)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
