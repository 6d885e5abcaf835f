package cmd

import (
	"fmt"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// choosePlaceError refuses to guess which field is meant, and gives the command for each
// that could be.
type choosePlaceError struct {
	command  commandline.Command
	commands commandline.Context
	Err      *template.UnknownPlaceError
}

// Error lists the fields, what is shallow first.
func (e *choosePlaceError) Error() string {
	if len(e.Err.Candidates) == 0 {
		return e.Err.Error()
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, escape.Line(fmt.Sprintf(format, args...))) }
	add("%s. Choose one:", e.Err.Error())
	for _, c := range e.Err.Candidates {
		flag := "--template-path"
		switch {
		case c.Form == podtemplate.Template:
			add("  %s: a pod template", c.Path)
		case c.Form == podtemplate.Parts:
			add("  %s: an object with %s", c.Path, strings.Join(c.Fields, ", "))
			continue // which part is meant, nobody but kubectl edit can be told
		case c.Value != "":
			flag = "--image-path"
			add("  %s (now %s)", c.Path, c.Value)
		default:
			flag = "--image-path"
			add("  %s", c.Path)
		}
		if !c.Pattern {
			add("    %s", e.commands.Line(e.command.With(flag, c.Path.String())))
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the error of the search.
func (e *choosePlaceError) Unwrap() error { return e.Err }
