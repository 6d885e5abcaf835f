// Package replicafield searches a kind's schema and an object for the fields that
// may hold a replica count, by their names. What it finds is a guess.
package replicafield

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
)

// maxCandidates bounds what is found.
const maxCandidates = 200

// Candidate is an integer field that, by its name, may be a replica count. It is
// a guess, for a person to decide on: a KafkaTopic's .spec.replicas is none.
type Candidate struct {
	// Path is what ParsePath reads.
	Path string
	// Pattern says that the object has no element there: Path shows how one
	// would be selected, with schemawalk.Unknown for its key.
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
	var s search
	schemawalk.Walk(schema, obj, s.look)
	slices.SortStableFunc(s.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.rank, b.rank))
	})
	var all []Candidate
	for _, f := range s.found {
		all = append(all, f.Candidate)
	}
	return all
}

// search is what is found.
type search struct {
	found []found
}

type found struct {
	Candidate
	depth, rank int
}

// look takes the node for a candidate, or reports that there may be some in it.
func (s *search) look(n schemawalk.Node) bool {
	if len(s.found) >= maxCandidates {
		return false
	}
	if name := n.Name(); name != "" {
		value, hasInteger := fieldpath.Integer(n.Value)
		if n.Schema["type"] == "integer" || n.Open() && hasInteger {
			if looksLikeCount(name, within(n)) {
				s.add(n, name, value, hasInteger)
			}
			return false
		}
		if unrelated(name) {
			return false
		}
	}
	return !isPod(n)
}

// within is the name of the field around the node's.
func within(n schemawalk.Node) string {
	for _, s := range slices.Backward(n.Steps[:len(n.Steps)-1]) {
		if s.Kind == fieldpath.Field {
			return s.Name
		}
	}
	return ""
}

func (s *search) add(n schemawalk.Node, name string, value int64, hasValue bool) {
	c := Candidate{Path: n.Path().String(), Pattern: n.Pattern,
		Minimum: bound(n.Schema, "minimum", 1), Maximum: bound(n.Schema, "maximum", -1)}
	if text, is := n.Schema["description"].(string); is {
		c.Description = firstSentence(text)
	}
	if hasValue {
		c.Value = &value
	}
	s.found = append(s.found, found{c, n.Depth, rank(name)})
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
func isPod(n schemawalk.Node) bool {
	value, _ := n.Value.(map[string]any)
	return fieldpath.Object(n.Schema, "properties", "spec", "properties")["containers"] != nil || fieldpath.Object(value, "spec")["containers"] != nil
}
