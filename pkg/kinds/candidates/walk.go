// Package candidates guesses which fields in a kind's schema and an object contain a replica count or other data.
package candidates

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Walk has limits, because schemas and objects may have any size.
const (
	MaxDepth = 12     // levels of fields below .spec
	maxNodes = 50_000 // visited fields and elements
)

// Unknown is a placeholder for a key in a pattern. No object has such a key.
const Unknown = "<NAME>"

// Node is a field or a list element in an object or its schema. The schema or the value may be nil.
type Node struct {
	Schema map[string]any
	Value  any
	Path   fieldpath.Path
	Depth  int // the number of fields in the path below .spec
	// Pattern means that the object has no such element or map entry. In the path, Unknown replaces the key, if any.
	Pattern bool
}

// Name returns the name of the field, or "" for an element of a list.
func (n Node) Name() string { return n.Path.Last().Name }

// Open reports whether the schema allows fields that it does not list.
func (n Node) Open() bool {
	_, typed := n.Schema["type"]
	return !typed && n.Schema["properties"] == nil || fieldpath.Open(n.Schema) || n.Schema["additionalProperties"] == true
}

func (n Node) child(s fieldpath.Step, schema map[string]any, value any) Node {
	n.Path = n.Path.With(s)
	if s.Kind == fieldpath.Field {
		n.Depth++
	}
	n.Schema, n.Value = schema, value
	return n
}

// Walk visits the nodes under .spec, shallow nodes first, so that the limits exclude deep nodes. If visit returns true,
// Walk visits the children of the node. Paths select list elements by their keys, if possible. If the schema describes
// the elements of an empty list or map, Walk visits a pattern.
//
// The schema is the OpenAPI v3 schema of a kind, from a CRD or from the server. Walk does not follow references. If the
// schema of a node is nil or open, Walk visits the fields that obj has there. obj may be nil.
func Walk(schema, obj map[string]any, visit func(Node) bool) {
	queue := []Node{{Schema: fieldpath.Object(schema, "properties", "spec"), Value: obj["spec"], Path: fieldpath.Fields("spec")}}
	for budget := maxNodes; len(queue) > 0; queue = queue[1:] {
		for n := range queue[0].children {
			if budget--; budget < 0 {
				return
			}
			if n.Depth <= MaxDepth && visit(n) {
				queue = append(queue, n)
			}
		}
	}
}

func (n Node) children(yield func(Node) bool) {
	if list, isList := n.Value.([]any); isList || n.Schema["items"] != nil {
		n.elements(list, yield)
		return
	}
	named, extra := fieldpath.Object(n.Schema, "properties"), fieldpath.Object(n.Schema, "additionalProperties")
	values, _ := n.Value.(map[string]any)
	known := sets.KeySet(named)
	names := sets.List(known)
	if extra != nil || n.Open() {
		names = append(names, sets.List(sets.KeySet(values).Difference(known))...)
	}
	for _, name := range names {
		schema := extra
		if known.Has(name) {
			schema = fieldpath.Object(named, name)
		}
		if !yield(n.child(fieldpath.Step{Name: name}, schema, values[name])) {
			return
		}
	}
	if extra != nil && len(names) == len(named) {
		n.Pattern = true
		yield(n.child(fieldpath.Step{Name: Unknown}, extra, nil))
	}
}

// elements yields the elements of a list, or a pattern if the list is empty and the schema describes its elements.
func (n Node) elements(list []any, yield func(Node) bool) {
	items := fieldpath.Object(n.Schema, "items")
	keys := fieldpath.Strings(n.Schema["x-kubernetes-list-map-keys"])
	for i, to := range selectors(list, keys) {
		if !yield(n.child(to, items, list[i])) {
			return
		}
	}
	if len(list) > 0 || items == nil {
		return
	}
	if usual := usualKeys(fieldpath.Object(items, "properties")); len(keys) == 0 && len(usual) > 0 {
		keys = usual[:1]
	}
	n.Pattern = true
	pattern := fieldpath.Step{Kind: fieldpath.Element}
	for _, key := range keys {
		pattern.Kind = fieldpath.Selection
		pattern.Where = append(pattern.Where, fieldpath.Comparison{Key: fieldpath.Fields(key), Value: Unknown})
	}
	yield(n.child(pattern, items, nil))
}

// usualKeys returns the fields that can identify the elements of a list without declared keys, the most common first:
// name, key, id, and names such as groupName. Names such as imageName do not identify an element.
func usualKeys(fields map[string]any) []string {
	others := []string{"image", "secret", "class", "host", "node", "volume", "service", "cluster"}
	rank := func(key string) int {
		words := Words(key)
		named := len(words) == 2 && words[1] == "name" && !slices.Contains(others, words[0])
		return slices.IndexFunc([]bool{key == "name", key == "key", key == "id", named}, func(is bool) bool { return is })
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(key string) bool { return rank(key) < 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys
}

// selectors returns a step to each list element: by the keys in the schema, by a common key with a unique
// value, or by the index. Because the schema may be wrong, selectors ignores keys whose values are not unique.
func selectors(list []any, mapKeys []string) []fieldpath.Step {
	steps := make([]fieldpath.Step, len(list))
	for i := range list {
		steps[i] = fieldpath.Step{Kind: fieldpath.Element, Index: i}
	}
	choices := [][]string{mapKeys}
	fields := map[string]any{}
	for _, element := range list {
		content, _ := element.(map[string]any)
		maps.Copy(fields, content)
	}
	for _, key := range usualKeys(fields) {
		choices = append(choices, []string{key})
	}
	for _, keys := range slices.Backward(choices) { // better keys replace worse keys
		alike := map[string][]int{}
		for i, value := range list {
			if where := keysOf(value, keys); len(where) > 0 {
				is := fieldpath.Path{Steps: []fieldpath.Step{{Kind: fieldpath.Selection, Where: where}}}.String()
				alike[is] = append(alike[is], i)
			}
		}
		for _, elements := range alike {
			if i := elements[0]; len(elements) == 1 {
				steps[i] = fieldpath.Step{Kind: fieldpath.Selection, Where: keysOf(list[i], keys)}
			}
		}
	}
	return steps
}

// keysOf returns comparisons with the values of all keys, or nil if the element lacks a key.
func keysOf(value any, keys []string) []fieldpath.Comparison {
	fields, _ := value.(map[string]any)
	var where []fieldpath.Comparison
	for _, key := range keys {
		switch v := fields[key].(type) {
		case string, int64, bool:
			where = append(where, fieldpath.Comparison{Key: fieldpath.Fields(key), Value: v})
		default:
			return nil
		}
	}
	return where
}

// ParsePath is like fieldpath.ParsePath, but rejects a path that contains Unknown.
func ParsePath(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParsePath(word)
	if err == nil && slices.ContainsFunc(path.Steps, hasPlaceholder) {
		err = fmt.Errorf("path %q: replace %s with the key of the element", word, Unknown)
	}
	return path, err
}

func hasPlaceholder(s fieldpath.Step) bool {
	return s.Name == Unknown || slices.ContainsFunc(s.Where, func(c fieldpath.Comparison) bool { return c.Value == Unknown })
}
