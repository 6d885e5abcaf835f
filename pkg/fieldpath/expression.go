package fieldpath

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Expression is a JSONPath expression and an optional expected value, as in "kubectl wait --for=jsonpath".
type Expression struct {
	text, Path string
	// value is nil if no value is expected.
	value *string
}

// ParseExpression parses EXPRESSION[=VALUE].
func ParseExpression(word string) (Expression, error) {
	e := Expression{text: word, Path: word}
	// The value follows the first = that is not part of ==.
	if at := strings.Index(strings.ReplaceAll(word, "==", "__"), "="); at >= 0 {
		e.Path, e.value = word[:at], new(strings.Trim(word[at+1:], "'\""))
	}
	if _, err := ParseJSONPath(e.Path); err != nil {
		return Expression{}, err
	}
	if e.value != nil && *e.value == "" {
		return Expression{}, errors.New("jsonpath needs a value after the equal sign, as in jsonpath={.status.readyReplicas}=3")
	}
	return e, nil
}

// Plain reports whether the expression contains no recursive descent, wildcard, or union. Each of these can multiply
// the results. Without them, an evaluation takes time linear in the size of the object.
func (e Expression) Plain() bool {
	unquoted := regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(e.Path, "")
	return !strings.Contains(unquoted, "..") && !strings.ContainsAny(unquoted, "*,")
}

// String returns the expression in its original form.
func (e Expression) String() string { return e.text }

// MarshalText returns the expression in its original form.
func (e Expression) MarshalText() ([]byte, error) { return []byte(e.text), nil }

func (e Expression) find(obj map[string]any) ([]reflect.Value, error) {
	path, _ := ParseJSONPath(e.Path) // cannot fail; a JSONPath has state, so each call parses a new one
	results, err := path.FindResults(obj)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", e.Path, err)
	}
	return slices.Concat(results...), nil
}

// Holds reports whether the expression has one result in obj: the expected value or, if none is expected, any value.
func (e Expression) Holds(obj map[string]any) (bool, error) {
	results, err := e.find(obj)
	switch {
	case err != nil || len(results) == 0:
		return false, err
	case len(results) > 1:
		return false, errors.New("the jsonpath expression matches more than one value")
	case e.value == nil:
		return true, nil
	}
	found := results[0].Interface()
	switch found.(type) {
	case map[string]any, []any:
		return false, errors.New("the jsonpath expression leads to an object or a list, which has no value to compare")
	}
	return strings.TrimSpace(fmt.Sprint(found)) == strings.TrimSpace(*e.value), nil
}

// Now returns a message about the first result of the expression in an object. If a field of a simple path, such
// as .a.b, is missing, the message lists the fields that the parent has.
func (e Expression) Now(obj map[string]any) string {
	if results, err := e.find(obj); err == nil && len(results) > 0 {
		return fmt.Sprintf("%s is %v", e.Path, results[0].Interface())
	}
	parent := ""
	for name := range strings.SplitSeq(strings.Trim(e.Path, "{}."), ".") {
		next, is := obj[name]
		if !is && len(obj) > 0 && !strings.ContainsAny(name, "[]\\'\"") {
			return fmt.Sprintf("it has no %s.%s; the fields there are %s", parent, name, strings.Join(slices.Sorted(maps.Keys(obj)), ", "))
		}
		obj, _ = next.(map[string]any)
		parent += "." + name
	}
	return e.Path + " is not set"
}

// ParseJSONPath parses a JSONPath expression as kubectl does for custom columns: {.a.b}, {a.b}, .a.b or
// a.b. The FindResults method of the result returns no error for a missing key.
func ParseJSONPath(expression string) (*jsonpath.JSONPath, error) {
	inner := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(expression, "{"), "}"), ".")
	if inner == "" || strings.ContainsAny(inner, "{}") || strings.HasPrefix(expression, "{") != strings.HasSuffix(expression, "}") {
		return nil, fmt.Errorf("unexpected path string %q, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'", expression)
	}
	path := jsonpath.New("path").AllowMissingKeys(true)
	if err := path.Parse("{." + inner + "}"); err != nil {
		return nil, fmt.Errorf("read %q: %w", expression, err)
	}
	return path, nil
}
