package candidates

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Group returns the path of the count for a named group of pods. The name is the key of a list element,
// or the name of a field. Group returns an error unless exactly one count matches.
func Group(fields []Field, name string) (fieldpath.Path, error) {
	var found fieldpath.Path
	var paths, groups []string
	for _, f := range fields {
		words := groupsOf(f.Path)
		if f.Pattern || len(words) == 0 {
			continue
		}
		if slices.Contains(words, name) {
			found = f.Path
			paths = append(paths, f.Path.String())
		}
		groups = append(groups, words...)
	}
	switch len(paths) {
	case 1:
		return found, nil
	case 0:
		slices.Sort(groups)
		if groups = slices.Compact(groups); len(groups) == 0 {
			return fieldpath.Path{}, fmt.Errorf("no group %q: the spec has no groups with a count", name)
		}
		return fieldpath.Path{}, fmt.Errorf("no group %q: the groups are %s", name, escape.Line(strings.Join(groups, ", ")))
	}
	return fieldpath.Path{}, fmt.Errorf("group %q has several counts; choose one with --replicas-path: %s", name, strings.Join(paths, ", "))
}

// groupsOf returns the field names and element keys on the path to a count, outermost first.
func groupsOf(path fieldpath.Path) []string {
	var words []string
	for i, s := range path.Steps[1 : len(path.Steps)-1] {
		switch s.Kind {
		case fieldpath.Field:
			// The key of a list element, not the name of the list, is the name of a group.
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

// GroupOf returns the name of the group whose number of pods is at this path, or "".
func GroupOf(path fieldpath.Path) string {
	words := groupsOf(path)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// Multiplies reports whether a count with this name, such as shards or hosts, multiplies other counts in its object.
func Multiplies(name string) bool {
	return Unit(name) == "shard" || slices.ContainsFunc(Words(name), func(word string) bool { return word == "hosts" || word == "per" })
}

// tooMany exceeds the maximum total. Its product with a valid count fits in an int64.
const tooMany = math.MaxInt32 + 1

// Total returns the number of pods for the fields, or nil if no value is valid or if the total exceeds MaxInt32.
func Total(fields []Field) *int32 {
	pods, each := map[string]int64{}, map[string]int64{}
	for _, f := range fields {
		if f.Value == nil || *f.Value < 0 || *f.Value > math.MaxInt32 {
			continue
		}
		parent := f.Path.Parent().String()
		if Multiplies(f.Path.Last().Name) {
			before, beside := each[parent]
			if each[parent] = *f.Value; beside {
				each[parent] = min(max(before, 1)*max(*f.Value, 1), math.MaxInt32)
			}
		} else {
			pods[parent] = min(pods[parent]+*f.Value, tooMany)
		}
	}
	sum := int64(0)
	for parent, n := range each {
		if counted, is := pods[parent]; is {
			n = min(max(n, 1)*counted, tooMany)
		}
		pods[parent] = n
	}
	for _, n := range pods {
		sum += n
	}
	if len(pods) == 0 || sum < 0 || sum > math.MaxInt32 {
		return nil
	}
	return new(int32(sum))
}
