package replicafield

import (
	"fmt"
	"slices"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Group finds the count of a named group of pods among the fields that could be a
// count: that of the element of a list with the name as its key, or of the field
// of the name. A name that means no count, or several, is an error.
func Group(candidates []Candidate, name string) (fieldpath.Path, error) {
	var found []fieldpath.Path
	var groups []string
	for _, c := range candidates {
		path, err := fieldpath.ParsePath(c.Path)
		if err != nil || c.Pattern {
			continue
		}
		words := groupsOf(path)
		if slices.Contains(words, name) {
			found = append(found, path)
		}
		if len(words) > 0 {
			groups = append(groups, words[len(words)-1])
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		slices.Sort(groups)
		if groups = slices.Compact(groups); len(groups) == 0 {
			return fieldpath.Path{}, fmt.Errorf("no group %q: the spec has no groups with a count", name)
		}
		return fieldpath.Path{}, fmt.Errorf("no group %q: the groups are %s", name, strings.Join(groups, ", "))
	}
	var paths []string
	for _, path := range found {
		paths = append(paths, path.String())
	}
	return fieldpath.Path{}, fmt.Errorf("group %q has several counts; choose one with --replicas-path: %s", name, strings.Join(paths, ", "))
}

// groupsOf are the words on the way to a count: names of fields below .spec, and
// keys of elements.
func groupsOf(path fieldpath.Path) []string {
	var words []string
	for i, s := range path.Steps[1 : len(path.Steps)-1] {
		switch s.Kind {
		case fieldpath.Field:
			// The name of a list is no group; what is selected of it is.
			if next := path.Steps[i+2]; next.Kind == fieldpath.Field {
				words = append(words, s.Name)
			}
		case fieldpath.Selection:
			for _, c := range s.Where {
				if key, is := c.Value.(string); is {
					words = append(words, key)
				}
			}
		}
	}
	return words
}
