// Package schemawalk goes through the fields of a kind's schema and of an object
// together, so that a search finds fields which either of them has.
package schemawalk

import (
	"maps"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Bounds of a walk, which no schema and no object can make longer.
const (
	MaxDepth = 12     // fields from .spec down
	maxNodes = 50_000 // fields and elements that are looked at
)

// Unknown stands for the key of an element that is not known, in a path that is
// a pattern. No object has such a key.
const Unknown = "<NAME>"

// Node is a part of an object with its schema.
type Node struct {
	// Schema and Value are nil where there is none.
	Schema map[string]any
	Value  any
	Steps  []fieldpath.Step
	// Depth counts the fields below .spec.
	Depth int
	// Pattern says that the object has no such element: the steps show how one would
	// be selected, with Unknown for its key.
	Pattern bool
}

// Name is that of the field, "" for an element of a list.
func (n Node) Name() string {
	if last := n.Steps[len(n.Steps)-1]; last.Kind == fieldpath.Field {
		return last.Name
	}
	return ""
}

// Path leads to the node.
func (n Node) Path() fieldpath.Path { return fieldpath.Path{Steps: n.Steps} }

// Open reports whether the object may hold what the schema does not name.
func (n Node) Open() bool {
	_, typed := n.Schema["type"]
	return !typed && n.Schema["properties"] == nil ||
		n.Schema["x-kubernetes-preserve-unknown-fields"] == true || n.Schema["additionalProperties"] == true
}

// child is the node one step further down.
func (n Node) child(s fieldpath.Step, schema map[string]any, value any) Node {
	n.Steps = append(slices.Clip(n.Steps), s)
	if s.Kind == fieldpath.Field {
		n.Depth++
	}
	n.Schema, n.Value = schema, value
	return n
}

// Walk shows all that is under .spec to visit, what is shallow first, so that the
// bounds cut off what is deep. visit says whether to go on into a node. Fields of
// lists are shown for each element that the object has, selected by its keys, and as a
// pattern if it has none.
//
// The schema is a kind's OpenAPI v3 schema, as a CRD has it or as the server
// publishes it. References are not followed; where the schema is nil or leaves
// open what an object holds, the fields that obj has are taken by their names.
// obj may be nil.
func Walk(schema, obj map[string]any, visit func(Node) bool) {
	w := walk{visit: visit, budget: maxNodes}
	w.queue = []Node{{Schema: fieldpath.Object(schema, "properties", "spec"), Value: obj["spec"], Steps: []fieldpath.Step{{Name: "spec"}}}}
	for len(w.queue) > 0 && w.budget > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.expand(next)
	}
}

// walk is what is still to be looked at.
type walk struct {
	visit  func(Node) bool
	queue  []Node
	budget int
}

// look shows a node, and keeps it for later if it is to be gone into.
func (w *walk) look(n Node) {
	w.budget--
	if w.budget >= 0 && n.Depth <= MaxDepth && w.visit(n) {
		w.queue = append(w.queue, n)
	}
}

// expand looks at what is in the node.
func (w *walk) expand(n Node) {
	list, isList := n.Value.([]any)
	if isList || n.Schema["items"] != nil {
		w.elements(n, list)
		return
	}
	named, extra := fieldpath.Object(n.Schema, "properties"), fieldpath.Object(n.Schema, "additionalProperties")
	values, _ := n.Value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		schema, _ := named[name].(map[string]any)
		w.look(n.child(fieldpath.Step{Name: name}, schema, values[name]))
	}
	if extra == nil && !n.Open() {
		return
	}
	others := false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, is := named[name]; !is {
			others = true
			w.look(n.child(fieldpath.Step{Name: name}, extra, values[name]))
		}
	}
	if !others && extra != nil {
		n.Pattern = true
		w.look(n.child(fieldpath.Step{Name: Unknown}, extra, nil))
	}
}

// elements looks at the elements of a list, or at one that is not there.
func (w *walk) elements(n Node, list []any) {
	items := fieldpath.Object(n.Schema, "items")
	mapKeys := fieldpath.Strings(n.Schema["x-kubernetes-list-map-keys"])
	for i, to := range selectors(list, mapKeys) {
		w.look(n.child(to, items, list[i]))
	}
	if len(list) > 0 || items == nil {
		return
	}
	n.Pattern = true
	pattern := fieldpath.Step{Kind: fieldpath.Element}
	if len(mapKeys) == 0 {
		for _, key := range usualKeys() {
			if fieldpath.Object(items, "properties", key) != nil {
				mapKeys = []string{key}
				break
			}
		}
	}
	for _, key := range mapKeys {
		pattern.Kind = fieldpath.Selection
		pattern.Where = append(pattern.Where, fieldpath.Comparison{Key: []string{key}, Value: Unknown})
	}
	w.look(n.child(pattern, items, nil))
}

// usualKeys are the fields that tell elements of a list apart where the schema
// does not say which do.
func usualKeys() []string { return []string{"name", "key", "id"} }

// selectors are the steps to the elements of a list: by the keys of the list, by
// a key that only the element has, or else by its index. That an element is the
// only one with its keys is looked up, for lists whose schema does not say so.
func selectors(list []any, mapKeys []string) []fieldpath.Step {
	steps := make([]fieldpath.Step, len(list))
	for i := range list {
		steps[i] = fieldpath.Step{Kind: fieldpath.Element, Index: i}
	}
	choices := [][]string{mapKeys}
	for _, key := range usualKeys() {
		choices = append(choices, []string{key})
	}
	for _, keys := range slices.Backward(choices) { // the best is the last to be set
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

// keysOf is what an element has for all of the keys, or nil.
func keysOf(value any, keys []string) []fieldpath.Comparison {
	fields, _ := value.(map[string]any)
	var where []fieldpath.Comparison
	for _, key := range keys {
		switch v := fields[key].(type) {
		case string, int64, bool:
			where = append(where, fieldpath.Comparison{Key: []string{key}, Value: v})
		default:
			return nil
		}
	}
	return where
}
