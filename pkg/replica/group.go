package replica

import (
	"fmt"
	"slices"
	"strings"
)

// Group finds the count of a named group of pods among the fields that could be a
// count: that of the element of a list with the name as its key, or of the field
// of the name. A name that means no count, or several, is an error.
func Group(candidates []Candidate, name string) (Path, error) {
	var found []Path
	var groups []string
	for _, c := range candidates {
		path, err := ParsePath(c.Path)
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
			return Path{}, fmt.Errorf("there is no group %q: its spec has no groups with a count", name)
		}
		return Path{}, fmt.Errorf("there is no group %q: it has %s", name, strings.Join(groups, ", "))
	}
	var paths []string
	for _, path := range found {
		paths = append(paths, path.String())
	}
	return Path{}, fmt.Errorf("the group %q has several counts: name one of them with --replicas-path: %s", name, strings.Join(paths, ", "))
}

// groupsOf are the words on the way to a count: names of fields below .spec, and
// keys of elements.
func groupsOf(path Path) []string {
	var words []string
	for i, s := range path.steps[1 : len(path.steps)-1] {
		switch s.kind {
		case field:
			// The name of a list is no group; what is selected of it is.
			if next := path.steps[i+2]; next.kind == field {
				words = append(words, s.name)
			}
		case selection:
			for _, c := range s.where {
				if key, is := c.value.(string); is {
					words = append(words, key)
				}
			}
		}
	}
	return words
}
