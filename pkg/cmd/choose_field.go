package cmd

import (
	"fmt"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/replicafield"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
)

// chooseFieldError refuses to guess which field is the replica count, and gives
// the command for each that could be meant.
type chooseFieldError struct {
	verb   string
	target observe.Target
	// count is the flag that says the count, such as "--replicas 3"; empty for verbs
	// without one.
	count    string
	commands commandline.Context
	Err      *discover.UnknownFieldError
}

// Error lists the fields, the likeliest first.
func (e *chooseFieldError) Error() string {
	if len(e.Err.Candidates) == 0 {
		return e.Err.Error()
	}
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, escape.Line(fmt.Sprintf(format, args...))) }
	line("%s. Choose one:", e.Err.Error())
	for _, c := range e.Err.Candidates {
		line("")
		line("  %s%s", c.Path, remarks(c))
		if c.Pattern && e.verb != "create" {
			continue // there is nothing yet that a command could change
		}
		command := commandline.Plugin(e.verb, e.target.Kind.CRD()+"/"+e.target.Name).In(e.target.Namespace)
		line("    %s", e.commands.Line(command.With(strings.Fields(e.count)...).With("--replicas-path", c.Path)))
	}
	once := "PATH"
	if first := e.Err.Candidates[0].Path; len(e.Err.Candidates) == 1 && !strings.Contains(first, "[") {
		once = first
	}
	line("")
	line("To set it for all objects: %s", e.commands.Line(commandline.Kubectl("annotate", "crd", e.target.Kind.CRD(), kinds.AnnotationReplicasPath+"="+once)))
	return strings.Join(lines, "\n")
}

// Unwrap returns the finder's own error.
func (e *chooseFieldError) Unwrap() error { return e.Err }

// remarks tells what is known of a field: its value and what its schema says.
func remarks(c replicafield.Candidate) string {
	var known []string
	if c.Pattern {
		known = append(known, "new list element: replace "+schemawalk.Unknown+" with its key")
	}
	for _, n := range []struct {
		what  string
		value *int64
	}{{"now", c.Value}, {"at least", c.Minimum}, {"at most", c.Maximum}} {
		if n.value != nil {
			known = append(known, fmt.Sprintf("%s %d", n.what, *n.value))
		}
	}
	var s string
	if len(known) > 0 {
		s = " (" + strings.Join(known, ", ") + ")"
	}
	if c.Description != "" {
		s += ": " + c.Description
	}
	return s
}
