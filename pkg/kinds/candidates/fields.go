package candidates

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// maxFields is the maximum number of candidates.
const maxFields = 200

// Field is an integer field whose name suggests a replica count. Only a user can confirm this, because
// names may be misleading: the .spec.replicas of a KafkaTopic is not a number of pods.
type Field struct {
	Path             fieldpath.Path
	Pattern          bool   // see Node.Pattern
	Description      string // the first sentence of the description in the schema
	Value            *int64 // the value in the object, or nil if it is missing or not an integer
	Minimum, Maximum *int64 // the bounds in the schema, or nil

	depth, rank int
}

// Fields returns the integer fields under .spec that look like a replica count, sorted by depth and then by rank. It
// omits pod templates and other objects whose numbers have another meaning. See Walk for the arguments.
func Fields(schema, obj map[string]any) []Field {
	var found []Field
	Walk(schema, obj, func(n Node) bool {
		if len(found) >= maxFields {
			return false
		}
		name := n.Name() // "" for an element of a list, which is never a count
		value, hasInteger := fieldpath.Integer(n.Value)
		if n.Schema["type"] != "integer" && (!n.Open() || !hasInteger) {
			return !unrelated(name) && !isPod(n)
		}
		if !looksLikeCount(name, within(n)) {
			return false
		}
		description, _ := n.Schema["description"].(string)
		f := Field{
			Path: n.Path, Pattern: n.Pattern, Description: firstSentence(description),
			Minimum: bound(n.Schema, "minimum", 1), Maximum: bound(n.Schema, "maximum", -1),
			depth: n.Depth, rank: rank(name),
		}
		if hasInteger {
			f.Value = &value
		}
		found = append(found, f)
		return false
	})
	slices.SortStableFunc(found, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.rank, b.rank))
	})
	return found
}

// within returns the name of the nearest field that contains a node, or "".
func within(n Node) string {
	for _, s := range slices.Backward(n.Path.Parent().Steps) {
		if s.Kind == fieldpath.Field {
			return s.Name
		}
	}
	return ""
}

// bound returns a bound in the schema, or nil. next is the step from an exclusive to an inclusive bound.
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

func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	words := strings.Fields(text)
	for i, word := range words[:max(0, len(words)-1)] {
		// A lower-case word continues the sentence, as in "e.g. three".
		if next := []rune(words[i+1])[0]; strings.HasSuffix(word, ".") && !unicode.IsLower(next) {
			words = words[:i+1]
			break
		}
	}
	return strings.Join(words, " ")
}

// isPod reports whether n, a place in an object or its schema, holds a pod or a pod template.
func isPod(n Node) bool {
	value, _ := n.Value.(map[string]any)
	return fieldpath.Object(n.Schema, "properties", "spec", "properties")["containers"] != nil || fieldpath.Object(value, "spec")["containers"] != nil
}

// Remarks returns the value, limits, and description of the field, to append to its path.
func (f Field) Remarks() string {
	var known []string
	if f.Pattern {
		known = append(known, "new list element: replace "+Unknown+" with its key")
	}
	for _, n := range []struct {
		what  string
		value *int64
	}{{"now", f.Value}, {"at least", f.Minimum}, {"at most", f.Maximum}} {
		if n.value != nil {
			known = append(known, fmt.Sprintf("%s %d", n.what, *n.value))
		}
	}
	text := ""
	if len(known) > 0 {
		text = " (" + strings.Join(known, ", ") + ")"
	}
	if f.Description != "" {
		text += ": " + f.Description
	}
	return text
}
