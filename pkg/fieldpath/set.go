package fieldpath

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// Set sets the value at the path. It creates missing objects, and adds missing list elements with the keys in the path.
func (p Path) Set(obj map[string]any, value any) error {
	_, err := set(obj, p.Steps, value)
	if err != nil {
		return fmt.Errorf("set %s: %w", p, err)
	}
	return nil
}

// set sets a value in the container, and returns the container, which may be a new object or a longer list.
func set(container any, steps []Step, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	s, rest := steps[0], steps[1:]
	if s.Kind == Field {
		fields, isObject := container.(map[string]any)
		if container != nil && !isObject {
			return nil, fmt.Errorf("%s is not an object", describe(container))
		}
		if fields == nil {
			fields = map[string]any{}
		}
		var err error
		fields[s.Name], err = set(fields[s.Name], rest, value)
		return fields, err
	}
	list, isList := container.([]any)
	if container != nil && !isList {
		return nil, fmt.Errorf("%s is not a list", describe(container))
	}
	at, list, err := s.place(list)
	if err != nil {
		return nil, err
	}
	list[at], err = set(list[at], rest, value)
	return list, err
}

// place returns the index of the element that the step selects, and the list. It appends a missing element to the list.
func (s Step) place(list []any) (int, []any, error) {
	if s.Kind == Element {
		switch {
		case s.Index < len(list):
			return s.Index, list, nil
		case s.Index == len(list):
			return s.Index, append(list, nil), nil
		}
		return 0, nil, fmt.Errorf("element %d cannot be set before element %d exists", s.Index, s.Index-1)
	}
	if i := slices.IndexFunc(list, s.selects); i >= 0 {
		return i, list, nil
	}
	made := map[string]any{}
	for _, c := range s.Where {
		if _, err := set(made, c.Key.Steps, c.Value); err != nil {
			return 0, nil, err
		}
	}
	return len(list), append(list, made), nil
}

// Typed converts a word from the command line to the type at the path in a schema. If the type is unknown, Typed parses
// an integer, a boolean, or a JSON object, list, or string. Any other word is a string.
func (p Path) Typed(schema map[string]any, word string) (any, error) {
	switch kind := p.TypeIn(schema); kind {
	case "string":
		return word, nil
	case "integer":
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is an integer, not %q", p, word)
		}
		return n, nil
	case "boolean":
		b, err := strconv.ParseBool(word)
		if err != nil {
			return nil, fmt.Errorf("%s is true or false, not %q", p, word)
		}
		return b, nil
	case "number", "object", "array":
		var value any
		if err := json.Unmarshal([]byte(word), &value); err != nil {
			return nil, fmt.Errorf("%s is of type %s, and %q is not JSON for that", p, kind, word)
		}
		return value, nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return n, nil
	}
	var value any
	if strings.ContainsAny(word, `{["tf`) && json.Unmarshal([]byte(word), &value) == nil {
		return value, nil
	}
	return word, nil
}

// In follows the path into a schema as far as possible, and returns the reached schema and the number of steps taken.
func (p Path) In(schema map[string]any) (at map[string]any, taken int) {
	at = Resolve(schema, schema)
	for i, s := range p.Steps {
		next := Object(at, "items")
		if s.Kind == Field {
			if next = Object(at, "properties", s.Name); next == nil {
				next = Object(at, "additionalProperties")
			}
		}
		if next == nil {
			return at, i
		}
		at = Resolve(schema, next)
	}
	return at, len(p.Steps)
}

// TypeIn returns the type at the path in a schema, or "" if it is unknown or ambiguous.
func (p Path) TypeIn(schema map[string]any) string {
	at, taken := p.In(schema)
	if taken < len(p.Steps) || at["x-kubernetes-int-or-string"] == true {
		return ""
	}
	kind, _ := at["type"].(string)
	return kind
}

// ParseSetting splits PATH=VALUE at the first = after a complete path. An = in brackets or quotes belongs to the path.
func ParseSetting(pair string) (Path, string, error) {
	err := fmt.Errorf("%q has no =: use PATH=VALUE", pair)
	for i, c := range pair {
		if c != '=' {
			continue
		}
		var path Path
		if path, err = ParsePath(pair[:i]); err == nil {
			return path, pair[i+1:], nil
		}
	}
	return Path{}, "", err
}
