// Package replicafield searches a kind's schema and an object for the fields that
// may hold a replica count, by their names. What it finds is a guess.
package replicafield

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Bounds of the search, which no schema and no object can make longer.
const (
	maxCandidateDepth = 12 // Object from .spec down
	maxCandidates     = 200
	maxCandidateNodes = 50_000 // Object and elements that are looked at
)

// Unknown stands for the key of an element that is not known, in a path that is
// a pattern.
const Unknown = "…"

// Candidate is an integer field that, by its name, may be a replica count. It is
// a guess, for a person to decide on: a KafkaTopic's .spec.replicas is none.
type Candidate struct {
	// Path is what ParsePath reads.
	Path string
	// Pattern says that the object has no element there: Path shows how one
	// would be selected, with Unknown for its key.
	Pattern bool
	// Description is the first sentence of the schema's, "" without one.
	Description string
	// Value is what the object has there, nil if nothing or no integer.
	Value *int64
	// Minimum and Maximum are what the schema declares, or nil.
	Minimum, Maximum *int64
}

// Candidates lists the integer fields under .spec that look like a replica
// count, best first: shallow ones before deep ones, and those named replicas
// before others. Fields of lists are listed for each element that the object
// has, selected by its keys, and as a pattern if it has none.
//
// The schema is a kind's OpenAPI v3 schema, as a CRD has it or as the server
// publishes it. References are not followed; where the schema is nil or leaves
// open what an object holds, the fields that obj has are taken by their names.
// Pod templates and other parts that hold numbers of their own are left out.
// obj may be nil.
func Candidates(schema, obj map[string]any) []Candidate {
	s := search{budget: maxCandidateNodes}
	// Breadth first, so that the bounds cut off what is deep.
	s.queue = []node{{schema: fieldpath.Object(schema, "properties", "spec"), value: obj["spec"], steps: []fieldpath.Step{{Name: "spec"}}}}
	for len(s.queue) > 0 && s.budget > 0 && len(s.found) < maxCandidates {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.expand(next)
	}
	slices.SortStableFunc(s.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.rank, b.rank))
	})
	var all []Candidate
	for _, f := range s.found {
		all = append(all, f.Candidate)
	}
	return all
}

// search is what is found and what is still to be looked at.
type search struct {
	queue  []node
	found  []found
	budget int
}

type found struct {
	Candidate
	depth, rank int
}

// node is a part of the object with its schema; nil: there is none.
type node struct {
	schema  map[string]any
	value   any
	steps   []fieldpath.Step
	depth   int
	pattern bool
}

// child is the node one step further down.
func (n node) child(s fieldpath.Step, schema map[string]any, value any) node {
	n.steps = append(slices.Clip(n.steps), s)
	if s.Kind == fieldpath.Field {
		n.depth++
	}
	n.schema, n.value = schema, value
	return n
}

// open says that the object may hold what the schema does not name.
func (n node) open() bool {
	_, typed := n.schema["type"]
	return !typed && n.schema["properties"] == nil ||
		n.schema["x-kubernetes-preserve-unknown-fields"] == true || n.schema["additionalProperties"] == true
}

// expand looks at what is in the node.
func (s *search) expand(n node) {
	list, isList := n.value.([]any)
	if isList || n.schema["items"] != nil {
		s.elements(n, list)
		return
	}
	named, extra := fieldpath.Object(n.schema, "properties"), fieldpath.Object(n.schema, "additionalProperties")
	values, _ := n.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		schema, _ := named[name].(map[string]any)
		s.look(n.child(fieldpath.Step{Name: name}, schema, values[name]))
	}
	if extra == nil && !n.open() {
		return
	}
	others := false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, is := named[name]; !is {
			others = true
			s.look(n.child(fieldpath.Step{Name: name}, extra, values[name]))
		}
	}
	if !others && extra != nil {
		n.pattern = true
		s.look(n.child(fieldpath.Step{Name: Unknown}, extra, nil))
	}
}

// elements looks at the elements of a list, or at one that is not there.
func (s *search) elements(n node, list []any) {
	items := fieldpath.Object(n.schema, "items")
	mapKeys := fieldpath.Strings(n.schema["x-kubernetes-list-map-keys"])
	for i, to := range selectors(list, mapKeys) {
		s.look(n.child(to, items, list[i]))
	}
	if len(list) > 0 || items == nil {
		return
	}
	n.pattern = true
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
	s.look(n.child(pattern, items, nil))
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

// look takes the node for a candidate, keeps it for later, or leaves it out.
func (s *search) look(n node) {
	s.budget--
	if s.budget < 0 || n.depth > maxCandidateDepth || len(s.found) >= maxCandidates {
		return
	}
	if last := n.steps[len(n.steps)-1]; last.Kind == fieldpath.Field {
		value, hasInteger := fieldpath.Integer(n.value)
		if n.schema["type"] == "integer" || n.open() && hasInteger {
			if looksLikeCount(last.Name, n.within()) {
				s.add(n, last.Name, value, hasInteger)
			}
			return
		}
		if unrelated(last.Name) {
			return
		}
	}
	if !isPod(n) {
		s.queue = append(s.queue, n)
	}
}

// within is the name of the field around the node's.
func (n node) within() string {
	for _, s := range slices.Backward(n.steps[:len(n.steps)-1]) {
		if s.Kind == fieldpath.Field {
			return s.Name
		}
	}
	return ""
}

func (s *search) add(n node, name string, value int64, hasValue bool) {
	c := Candidate{Path: fieldpath.Path{Steps: n.steps}.String(), Pattern: n.pattern,
		Minimum: bound(n.schema, "minimum", 1), Maximum: bound(n.schema, "maximum", -1)}
	if text, is := n.schema["description"].(string); is {
		c.Description = firstSentence(text)
	}
	if hasValue {
		c.Value = &value
	}
	s.found = append(s.found, found{c, n.depth, rank(name)})
}

// bound is a number of the schema; if it is exclusive, the next one in the
// direction given.
func bound(schema map[string]any, key string, next int64) *int64 {
	n, is := fieldpath.Integer(schema[key])
	if !is {
		return nil
	}
	exclusive := "exclusive" + strings.ToUpper(key[:1]) + key[1:]
	if schema[exclusive] == true && n != math.MaxInt64 && n != math.MinInt64 {
		n += next
	}
	return &n
}

// firstSentence is the first sentence of a description, on one line.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	words := strings.Fields(text)
	for i, word := range words[:max(0, len(words)-1)] {
		// "e.g. three" goes on; a sentence begins with a capital letter.
		if next := []rune(words[i+1])[0]; strings.HasSuffix(word, ".") && !unicode.IsLower(next) {
			words = words[:i+1]
			break
		}
	}
	return strings.Join(words, " ")
}

// isPod says that the node is a pod or the template of one.
func isPod(n node) bool {
	value, _ := n.value.(map[string]any)
	return fieldpath.Object(n.schema, "properties", "spec", "properties")["containers"] != nil || fieldpath.Object(value, "spec")["containers"] != nil
}
