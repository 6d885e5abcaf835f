package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// choiceError is an error with lines that list the fields or commands to choose from.
type choiceError struct {
	err   error
	lines []string
}

func (e *choiceError) Error() string {
	text := []string{escape.Line(e.err.Error() + ". Choose one:")}
	for _, line := range e.lines {
		text = append(text, escape.Line(line))
	}
	return strings.Join(text, "\n")
}

func (e *choiceError) Unwrap() error { return e.err }

// chooseField adds the possible fields, likeliest first, to the error about an unknown replica field. It suggests a
// command, with the flags in count, for each field that the verb can set. It returns other errors unchanged.
func (o *commonOptions) chooseField(err error, verb string, t *observe.Target, count ...string) error {
	unknown, is := errors.AsType[*discover.UnknownFieldError](err)
	if !is || len(unknown.Candidates) == 0 {
		return err
	}
	var lines []string
	for _, f := range unknown.Candidates {
		lines = append(lines, "", "  "+f.Path.String()+f.Remarks())
		if f.Pattern && verb != "create" {
			continue // the list element does not exist, so only create can set its field
		}
		lines = append(lines, "    "+o.line(commandOn(verb, t).With(count...).With("--replicas-path", f.Path.String())))
	}
	once := "PATH"
	if first := unknown.Candidates[0].Path.String(); len(unknown.Candidates) == 1 && !strings.Contains(first, "[") {
		once = first
	}
	annotate := commandline.Kubectl("annotate", "crd", t.Kind.CRD(), kinds.AnnotationReplicasPath+"="+once)
	return &choiceError{err, append(lines, "", "To set it for all objects: "+o.line(annotate))}
}

// countPath returns the path of the replica field. If the field is unknown, the error lists the possible
// fields. If the CRD that names the field cannot be read, the error wraps outcome.ErrForbidden.
func (c *changer) countPath(ctx context.Context, verb string, t *observe.Target, count ...string) (*fieldpath.Path, error) {
	field, err := c.Finder.Find(ctx, t.Kind, t.Object, t.Path)
	if err != nil {
		return nil, c.chooseField(err, verb, t, count...)
	}
	if field.Path == nil {
		return nil, fmt.Errorf("%w: no permission to read the CRD %s, which names the field behind /scale; name it with --replicas-path", outcome.ErrForbidden, t.Kind.CRD())
	}
	return field.Path, nil
}

// choosePlace adds the possible fields, shallow paths first, to the error about an unknown pod template or
// image. It suggests a command for each field that a flag can select. It returns other errors unchanged.
func (o *commonOptions) choosePlace(err error, command commandline.Command) error {
	unknown, is := errors.AsType[*template.UnknownPlaceError](err)
	if !is || len(unknown.Candidates) == 0 {
		return err
	}
	var lines []string
	for _, c := range unknown.Candidates {
		flag, about := "--image-path", ""
		switch {
		case c.Form == podtemplate.Template:
			flag, about = "--template-path", ": a pod template"
		case c.Form == podtemplate.Parts && len(c.Fields) == 0:
			flag, about = "", ": a part of an image"
		case c.Form == podtemplate.Parts:
			flag, about = "", ": an object with "+strings.Join(c.Fields, ", ") // no flag selects such an object
		case c.Value != "":
			about = " (now " + c.Value + ")"
		}
		lines = append(lines, "  "+c.Path.String()+about)
		if flag != "" && !c.Pattern {
			lines = append(lines, "    "+o.line(command.With(flag, c.Path.String())))
		}
	}
	return &choiceError{err, lines}
}

// unknownField reports whether the server rejected a change because the object has no such field. Callers
// must not show the server's whole message, because it quotes the object.
func unknownField(err error) bool {
	return (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "unknown field ")
}

// noField returns the error for a path that is not in a schema. It suggests similar fields or, if none, replica fields.
func noField(t *observe.Target, path fieldpath.Path, schema map[string]any) error {
	at, taken := path.In(schema)
	var nearest []string
	if taken < len(path.Steps) {
		nearest = nearestTo(path.Steps[taken].Name, slices.Sorted(maps.Keys(fieldpath.Object(at, "properties"))))
	}
	for i, name := range nearest {
		steps := append(slices.Clone(path.Steps[:taken]), fieldpath.Step{Kind: fieldpath.Field, Name: name})
		nearest[i] = fieldpath.Path{Steps: append(steps, path.Steps[taken+1:]...)}.String()
	}
	if len(nearest) == 0 {
		for _, f := range candidates.Fields(schema, nil) {
			nearest = append(nearest, f.Path.String())
		}
		nearest = nearest[:min(len(nearest), 3)]
	}
	return fmt.Errorf("%s has no field %s%s", t, path, outcome.DidYouMean(nearest))
}

// nearestTo returns the words that are similar to a misspelled word. cobra compares only names of commands.
func nearestTo(word string, words []string) []string {
	if len(word) < 3 {
		return nil // a short word is similar to too many words
	}
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		all.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(word)
}

// suggestTypes adds types with similar names to errors about unknown types.
func suggestTypes(f *kube.Factory, err error) error {
	all := outcome.Errors{err}
	errors.As(err, &all)
	for _, err := range all {
		if unknown, is := errors.AsType[*outcome.UnknownTypeError](err); is {
			unknown.Nearest = nearestTo(unknown.Type, typeNames(f))
		}
	}
	return err
}

func typeNames(f *kube.Factory) []string {
	all := kinds.Shipped()
	if clients, err := f.Connect(); err == nil {
		served, _ := clients.Finder.Kinds() // a partial list is better than none
		all = append(all, served...)
	}
	names := sets.New[string]()
	for _, kind := range all {
		names.Insert(kind.Singular)
	}
	return sets.List(names)
}
