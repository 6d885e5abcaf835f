// Package fieldpath parses paths to a field of an object. It reads and sets the field, makes patches,
// and finds the field in schemas and managedFields.
package fieldpath

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Path is a JSONPath to a single place in an object. Its steps are fields (.size, ["a.b"]) and
// elements of lists, by index ([0]) or by keys ([?(@.name=="hot")]).
//
// This package has its own parser, because client-go's JSONPath returns values instead of places, and
// other libraries accept neither kubectl's escapes nor names with dashes.
type Path struct {
	Steps []Step
}

// StepKind is the kind of a Step.
type StepKind int

// The kinds of steps.
const (
	Field     StepKind = iota // a field of an object, by name
	Element                   // an element of a list, by index
	Selection                 // an element of a list, by the values of its keys
)

// Step is one step of a path.
type Step struct {
	Kind  StepKind
	Name  string       // of a Field
	Index int          // of an Element
	Where []Comparison // of a Selection; all must match
}

// Comparison requires that an element has a value at a path of fields, its key. Value is a string, int64, or bool.
type Comparison struct {
	Key   Path
	Value any
}

// spot is a field of an object or an element of a list. key is the field name (string) or the list index (int).
type spot struct{ key, value any }

// Fields returns the path from the root of an object through these fields.
func Fields(names ...string) Path {
	p := Path{}
	for _, name := range names {
		p.Steps = append(p.Steps, Step{Kind: Field, Name: name})
	}
	return p
}

// Annotation returns the path of an annotation.
func Annotation(key string) Path { return Fields("metadata", "annotations", key) }

// String formats the path for ParseSteps. It double-quotes special names, so that users can single-quote the path.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p.Steps {
		switch s.Kind {
		case Field:
			writeName(&b, s.Name)
		case Element:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case Selection:
			all := make([]string, len(s.Where))
			for i, c := range s.Where {
				all[i] = c.String()
			}
			fmt.Fprintf(&b, "[?(%s)]", strings.Join(all, " && "))
		}
	}
	return b.String()
}

// String formats the comparison for ParseSteps, as part of a filter.
func (c Comparison) String() string {
	value := fmt.Sprint(c.Value)
	if text, is := c.Value.(string); is {
		value = quote(text)
	}
	return "@" + c.Key.String() + "==" + value
}

func writeName(b *strings.Builder, name string) {
	if name != "" && strings.TrimLeftFunc(name, plain) == "" {
		b.WriteString("." + name)
		return
	}
	b.WriteString("[" + quote(name) + "]")
}

// plain reports whether a rune needs no quotes.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// locate follows the path into obj until a step has no match. It returns a spot for each matched step, and the value at
// the last one. It returns an error if a step matches several spots, or if a value has the wrong type for its step.
func (p Path) locate(obj map[string]any) (at []spot, value any, err error) {
	value = obj
	for i, s := range p.Steps {
		if value == nil {
			break // null is treated as absent
		}
		found, err := s.find(value, Path{p.Steps[:i]})
		switch {
		case err != nil:
			return nil, nil, err
		case len(found) > 1:
			return nil, nil, fmt.Errorf("%s matches %d fields: use a filter that matches one", Path{p.Steps[:i+1]}, len(found))
		case len(found) == 0:
			return at, value, nil
		}
		at, value = append(at, found[0]), found[0].value
	}
	return at, value, nil
}

// find returns the spots that the step matches in value. at is the path of value. A value of a wrong type is an error.
func (s Step) find(value any, at Path) (found []spot, err error) {
	fields, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case s.Kind == Field && isList:
		return nil, fmt.Errorf(`%s is a list: select one of its elements by a key, as in %[1]s[?(@.name=="NAME")]`, at)
	case s.Kind == Field && !isObject:
		return nil, fmt.Errorf("%s is %s, not an object", at, describe(value))
	case s.Kind != Field && !isList:
		return nil, fmt.Errorf("%s is %s, not a list", at, describe(value))
	}
	if field, there := fields[s.Name]; there {
		found = append(found, spot{s.Name, field})
	}
	for i, element := range list {
		if s.Kind == Element && i == s.Index || s.Kind == Selection && s.selects(element) {
			found = append(found, spot{i, element})
		}
	}
	return found, nil
}

func (s Step) selects(e any) bool {
	fields, _ := e.(map[string]any)
	for _, c := range s.Where {
		value, _ := c.Key.Value(fields)
		if n, is := Integer(value); is {
			value = n
		}
		if value != c.Value {
			return false
		}
	}
	return true
}

// With returns the path with an additional step.
func (p Path) With(s Step) Path { return Path{append(slices.Clip(p.Steps), s)} }

// Last returns the last step of the path, which must not be empty.
func (p Path) Last() Step { return p.Steps[len(p.Steps)-1] }

// Parent returns the path without its last step. The path must not be empty.
func (p Path) Parent() Path { return Path{p.Steps[:len(p.Steps)-1]} }

// Value returns the value at the path, or nil if there is none. Value returns an error if
// a step matches several elements, or if a value has the wrong type for its step.
func (p Path) Value(obj map[string]any) (any, error) {
	at, value, err := p.locate(obj)
	if err != nil || len(at) < len(p.Steps) {
		return nil, err
	}
	return value, nil
}

// Get returns the integer at the path. If the value is absent or null, found is false. A non-integer is an error.
func (p Path) Get(obj map[string]any) (n int64, found bool, err error) {
	value, err := p.Value(obj)
	if err != nil || value == nil {
		return 0, false, err
	}
	n, is := Integer(value)
	if !is {
		return 0, false, fmt.Errorf("%s is %s, not an integer", p, describe(value))
	}
	return n, true, nil
}

// Integer converts an unstructured value: an int64, or a float64 that an int64 can represent. It rejects other values.
func Integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		// A float64 can represent MinInt64, but rounds MaxInt64 up to 2^63, which would overflow.
		if n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64 {
			return int64(n), true
		}
	}
	return 0, false
}

func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %.64q", v)
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprint(value)
}
