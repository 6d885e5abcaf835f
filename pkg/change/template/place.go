package template

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Part is a setting of a pod's containers, as messages name it.
type Part string

// The parts that can be set. A kind without a pod template can have a field for Image or Env.
const (
	Image     Part = "an image"
	Env       Part = "environment variables"
	Resources Part = "resources"
)

// Place is the field of an object that defines a Part.
type Place struct {
	Path fieldpath.Path
	// InTemplate means that the field is a pod template. Otherwise, the field is the part itself.
	InTemplate bool
}

// UnknownPlaceError means that the field to change is unknown. This program never guesses a field.
type UnknownPlaceError struct {
	Target observe.Target
	// What describes the field, such as "pod template".
	What       string
	Candidates []podtemplate.Candidate
}

func (e *UnknownPlaceError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("%s has no %s: neither its schema nor the object has such a field", e.Target, e.What)
	}
	return fmt.Sprintf("cannot tell which field of %s is its %s", e.Target, e.What)
}

// FindPlace returns the known field for the kind of a target. For an unknown kind, it returns the
// unambiguous candidate in the schema and the object, or else an UnknownPlaceError. t.Object must be set.
func FindPlace(f *discover.Finder, t observe.Target, part Part) (Place, error) {
	m := t.Kind.Mapping
	own := map[Part][]string{Image: m.ImagePath, Env: m.EnvPath}[part] // of a kind without a pod template
	switch template := t.Kind.TemplatePath(); {
	case len(template) > 0:
		return Place{fieldpath.Fields(template...), true}, nil
	case len(own) > 0:
		return Place{Path: fieldpath.Fields(own...)}, nil
	case t.Kind.Reconciled() && part == Image:
		return Place{}, fmt.Errorf("%s has no field for an image: its pods run %s", t, m.Image)
	case t.Kind.Reconciled():
		return Place{}, fmt.Errorf("%s has no field for %s", t, part)
	case t.Kind.BuiltIn():
		return Place{}, fmt.Errorf("%s has no pod template", t)
	}
	schema, err := f.Schema(t.Kind)
	if err != nil {
		return Place{}, err
	}
	what := "image"
	all := podtemplate.Candidates(schema, t.Object.Object)
	// If there is also an image field, a template is ambiguous: the operator might only merge the template into a
	// generated one. So choose among all candidates, even if only templates count.
	chosen, is := podtemplate.Choose(all)
	if part != Image {
		what = "pod template"
		is = is && chosen.Form == podtemplate.Template
		all = slices.DeleteFunc(all, func(c podtemplate.Candidate) bool { return c.Form != podtemplate.Template })
	}
	if !is {
		return Place{}, f.Undeclared(t.Kind, &UnknownPlaceError{t, what, all})
	}
	return Place{chosen.Path, chosen.Form == podtemplate.Template}, nil
}
