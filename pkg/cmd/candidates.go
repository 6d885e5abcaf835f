package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/replicafield"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
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

// unknownField reports whether a server refused a change because an object has no such
// field: then it quotes the whole object.
func unknownField(err error) bool {
	return (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "unknown field ")
}

// noField is the error for a path to a field that a schema does not have. It names the
// nearest fields.
func noField(t observe.Target, path fieldpath.Path, schema map[string]any) error {
	taken, siblings := missingAt(path, schema)
	var nearest []string
	if taken < len(path.Steps) {
		nearest = nearestTo(path.Steps[taken].Name, siblings)
	}
	for i, name := range nearest {
		steps := append(slices.Clone(path.Steps[:taken]), fieldpath.Step{Kind: fieldpath.Field, Name: name})
		nearest[i] = fieldpath.Path{Steps: append(steps, path.Steps[taken+1:]...)}.String()
	}
	if len(nearest) == 0 {
		for _, c := range replicafield.Candidates(schema, nil) {
			nearest = append(nearest, c.Path)
		}
		nearest = nearest[:min(len(nearest), 3)]
	}
	return fmt.Errorf("%s has no field %s%s", t, path, didYouMean(nearest))
}

// missingAt is how many steps of a path a schema has, and the fields that it has where
// the next step is missing.
func missingAt(path fieldpath.Path, schema map[string]any) (taken int, siblings []string) {
	for i, step := range path.Steps {
		if step.Kind != fieldpath.Field {
			schema = fieldpath.Object(schema, "items")
			continue
		}
		properties := fieldpath.Object(schema, "properties")
		next, is := properties[step.Name].(map[string]any)
		if !is {
			return i, slices.Sorted(maps.Keys(properties))
		}
		schema = next
	}
	return len(path.Steps), nil
}

// unreadField is the error for a count whose field the CRD names, which the user may not
// read.
func unreadField(kind kinds.Kind) error {
	return fmt.Errorf("%w: no permission to read the CRD %s, which names the field behind /scale; name it with --replicas-path", outcome.ErrForbidden, kind.CRD())
}

// nearestTo are those of some words that a word may be meant to be. cobra knows how near
// two names are, but only for commands.
func nearestTo(word string, words []string) []string {
	if len(word) < 3 {
		return nil // it would be near to many
	}
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		all.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(word)
}

func didYouMean(nearest []string) string {
	if len(nearest) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(nearest, " or "))
}

// suggestTypes makes the errors of a verb about unknown types name the nearest types
// of the server.
func suggestTypes(c *kube.Factory, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		all := outcome.Errors{err}
		errors.As(err, &all)
		for _, err := range all {
			var unknown *outcome.UnknownTypeError
			if errors.As(err, &unknown) {
				unknown.Nearest = nearestTo(unknown.Type, typeNames(c))
			}
		}
		return err
	}
}

// typeNames are the singular names of the types of the server that have replicas or
// could have, each once.
func typeNames(c *kube.Factory) []string {
	all := kinds.Shipped()
	if finder, err := c.Finder(); err == nil {
		served, _ := finder.Kinds() // what could be read is better than nothing
		all = append(all, served...)
	}
	names := make([]string, 0, len(all))
	for _, kind := range all {
		names = append(names, kind.Singular)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
