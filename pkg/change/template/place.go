package template

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Places contains the paths of the fields that define an object's pods: the pod template, or the
// image and the environment. A path is nil if the kind lacks the field.
type Places struct {
	Template *fieldpath.Path
	// Image and Env are the image and the environment of the only container, for kinds without a template.
	Image, Env *fieldpath.Path
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

// FindPlaces returns the known fields for the kind of a target. For an unknown kind, it returns the
// unambiguous candidate in the schema and the object, or else an UnknownPlaceError. images means that an
// image field is enough. t.Object must be set.
func FindPlaces(f *discover.Finder, t observe.Target, images bool) (Places, error) {
	if known, is, err := knownPlaces(t, images); is || err != nil {
		return known, err
	}
	schema, err := f.Schema(t.Kind)
	if err != nil {
		return Places{}, err
	}
	what := "image"
	all := podtemplate.Candidates(schema, t.Object.Object)
	// If there is also an image field, a template is ambiguous, because the operator might generate its own
	// template and only merge this one into it. So choose among all candidates, even if only templates count.
	chosen, is := podtemplate.Choose(all)
	if !images {
		what = "pod template"
		is = is && chosen.Form == podtemplate.Template
		all = slices.DeleteFunc(all, func(c podtemplate.Candidate) bool { return c.Form != podtemplate.Template })
	}
	switch {
	case !is:
		return Places{}, f.Undeclared(t.Kind, &UnknownPlaceError{t, what, all})
	case chosen.Form == podtemplate.Image:
		return Places{Image: &chosen.Path}, nil
	}
	return Places{Template: &chosen.Path}, nil
}

// knownPlaces returns the fields that are known for a kind, and whether this program knows the kind.
func knownPlaces(t observe.Target, images bool) (Places, bool, error) {
	switch m := t.Kind.Mapping; {
	case len(t.Kind.TemplatePath()) > 0:
		return Places{Template: path(t.Kind.TemplatePath())}, true, nil
	case t.Kind.Reconciled():
		p := Places{Image: path(m.ImagePath), Env: path(m.EnvPath)}
		if images && p.Image == nil {
			return p, true, fmt.Errorf("%s has no field for an image: its pods run %s", t, m.Image)
		}
		return p, true, nil
	case t.Kind.BuiltIn():
		return Places{}, true, fmt.Errorf("%s has no pod template", t)
	}
	return Places{}, false, nil
}

func path(names []string) *fieldpath.Path {
	if len(names) == 0 {
		return nil
	}
	return new(fieldpath.Fields(names...))
}
