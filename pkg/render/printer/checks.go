package printer

import (
	"fmt"
	"io"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// Checks writes a line for each check, followed by the commands that fix its problem.
func Checks(w io.Writer, checks []check.Result, style Style) error {
	width := 0
	for _, c := range checks {
		width = max(width, len(escape.Cell(c.Name)))
	}
	for _, c := range checks {
		sign := style.paint(green, style.sign("✔", "ok  "))
		switch c.State {
		case check.Failed:
			sign = style.paint(red, style.sign("✖", "FAIL"))
		case check.Optional:
			sign = style.paint(dim, style.sign("○", "-   "))
		case check.Unknown:
			sign = style.paint(yellow, style.sign("?", "?   "))
		}
		if _, err := fmt.Fprintf(w, "%s %-*s  %s\n", sign, width, escape.Cell(c.Name), oneLine(c.Message)); err != nil {
			return err
		}
		for _, command := range c.Fix {
			if _, err := fmt.Fprintf(w, "    %s\n", style.paint(cyan, oneLine(command))); err != nil {
				return err
			}
		}
	}
	return nil
}
