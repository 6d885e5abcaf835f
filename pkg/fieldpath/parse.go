package fieldpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParsePath parses a path to a field under .spec: .spec.replicas, spec.replicas, $.spec.replicas or {.spec.replicas}.
// Names with special characters are written as ['a.b'], ["a.b"] or a\.b. List elements are selected by [0] or
// [?(@.name=="hot")], with && between several keys. In quotes, a backslash escapes the next character.
//
// ParsePath rejects paths that end with a filter. It also rejects wildcards, slices, unions, recursive descent, and
// filters that do not compare keys with ==, because such paths may match several places.
func ParsePath(s string) (Path, error) {
	p, err := ParseSteps(s)
	switch {
	case err != nil:
	case p.Steps[0].Name != "spec": // also rejects a list element, which has no name
		err = fmt.Errorf("%s is outside .spec, and only fields in .spec can be named", Path{p.Steps[:1]})
	case len(p.Steps) == 1:
		err = errors.New("it is all of .spec; name a field in it")
	case p.Last().Kind == Selection:
		err = errors.New("it ends with an element of a list; name a field in it")
	}
	if err != nil {
		return Path{}, fmt.Errorf("path %q: %w", s, err)
	}
	return p, nil
}

// ParseSteps is like ParsePath, but accepts a path to any place in an object.
func ParseSteps(s string) (Path, error) {
	if !utf8.ValidString(s) {
		return Path{}, errors.New("it is not valid UTF-8")
	}
	s = strings.TrimSpace(s)
	if inner, opened := strings.CutPrefix(s, "{"); opened {
		inner, closed := strings.CutSuffix(inner, "}")
		if !closed {
			return Path{}, errors.New("the closing } is missing")
		}
		s = strings.TrimSpace(inner)
	}
	s = strings.TrimPrefix(s, "$")
	if s == "" || s == "." {
		return Path{}, errors.New("it is empty; use a path such as .spec.replicas")
	}
	r := reader{rest: s}
	var steps []Step
	for r.rest != "" {
		next, err := r.step(len(steps) == 0)
		if err != nil {
			return Path{}, err
		}
		steps = append(steps, next)
	}
	return Path{steps}, nil
}

var (
	errWildcard = errors.New("wildcards are not supported, because the path must name one field: name the field, or select an element by its key")
	errDescent  = errors.New("recursive descent (..) is not supported, because the path must name one field: name each field on the way")
	errSeveral  = errors.New("slices and unions are not supported, because the path must name one field: use one index, or select an element by its key")
	errNegative = errors.New("an index cannot be negative; select the element by a key instead")
	errFunction = errors.New("functions and scripts are not supported; a path only names fields and elements")
	errFilter   = errors.New(`a filter compares keys of an element with values by ==, as in [?(@.name=="hot")], joined by &&`)
)

// reader parses a path. rest is the part that has not been parsed yet.
type reader struct{ rest string }

func (r *reader) take(prefix string) (had bool) {
	r.rest, had = strings.CutPrefix(r.rest, prefix)
	return had
}

func (r *reader) spaces() { r.rest = strings.TrimLeft(r.rest, " \t") }

func (r *reader) unexpected(want string) error {
	switch {
	case r.rest == "":
		return fmt.Errorf("%s is missing at the end", want)
	case r.rest[0] == '(':
		return errFunction
	}
	return fmt.Errorf("%s is missing before %q", want, r.rest)
}

func (r *reader) step(first bool) (Step, error) {
	if r.take("[") {
		return r.bracket()
	}
	if !r.take(".") && !first {
		return Step{}, r.unexpected(". or [")
	}
	switch {
	case r.take("."):
		return Step{}, errDescent
	case r.take("*"):
		return Step{}, errWildcard
	}
	name, err := r.name()
	return Step{Kind: Field, Name: name}, err
}

// bracket parses a step in brackets, after the opening "[".
func (r *reader) bracket() (Step, error) {
	r.spaces()
	s, err := r.inBracket()
	if err != nil {
		return Step{}, err
	}
	r.spaces()
	switch {
	case r.take("]"):
		return s, nil
	case s.Kind == Selection:
		return Step{}, errFilter
	case r.take(","), r.take(":"):
		return Step{}, errSeveral
	}
	return Step{}, r.unexpected("]")
}

func (r *reader) inBracket() (Step, error) {
	switch {
	case r.take("*"):
		return Step{}, errWildcard
	case r.take(":"):
		return Step{}, errSeveral
	case r.take("-"):
		return Step{}, errNegative
	case r.take("?"):
		where, err := r.filter()
		return Step{Kind: Selection, Where: where}, err
	case strings.HasPrefix(r.rest, "'"), strings.HasPrefix(r.rest, `"`):
		name, err := r.quoted()
		return Step{Kind: Field, Name: name}, err
	}
	digits := r.while(func(c rune) bool { return c >= '0' && c <= '9' })
	if digits == "" {
		return Step{}, r.unexpected("an index, a name in quotes or a filter")
	}
	index, err := strconv.ParseInt(digits, 10, 32) // an index of a list fits into 32 bits
	if err != nil {
		return Step{}, fmt.Errorf("the index %s is too high", digits)
	}
	return Step{Kind: Element, Index: int(index)}, nil
}

// while removes and returns the leading runes for which ok returns true.
func (r *reader) while(ok func(rune) bool) string {
	all := r.rest
	r.rest = strings.TrimLeftFunc(all, ok)
	return strings.TrimSuffix(all, r.rest)
}

// name parses an unquoted name as kubectl's JSONPath does: up to the first special character without a backslash.
func (r *reader) name() (string, error) {
	var b strings.Builder
	for {
		b.WriteString(r.while(func(c rune) bool { return !strings.ContainsRune(" \t\r\n.,:;[](){}$@*?'\"\\=!<>&|", c) }))
		if !r.take(`\`) {
			break
		}
		c, size := utf8.DecodeRuneInString(r.rest)
		if size == 0 {
			return "", errors.New("nothing follows the last backslash")
		}
		b.WriteRune(c)
		r.rest = r.rest[size:]
	}
	if b.Len() == 0 || strings.HasPrefix(r.rest, "(") {
		return "", r.unexpected("the name of a field") // or errFunction, before a parenthesis
	}
	return b.String(), nil
}

func (r *reader) quoted() (string, error) {
	mark := rune(r.rest[0])
	var b strings.Builder
	escaped := false
	for i, c := range r.rest[1:] {
		switch {
		case c == mark && !escaped:
			r.rest = r.rest[1+i+1:]
			return b.String(), nil
		case c == '\\' && !escaped:
			escaped = true
		default:
			b.WriteRune(c)
			escaped = false
		}
	}
	return "", fmt.Errorf("the quote of %s is not closed", r.rest)
}

func (r *reader) filter() ([]Comparison, error) {
	r.spaces()
	inParentheses := r.take("(")
	var all []Comparison
	for {
		c, err := r.comparison()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if !r.take("&&") {
			break
		}
	}
	if inParentheses && !r.take(")") {
		return nil, errFilter
	}
	return all, nil
}

func (r *reader) comparison() (c Comparison, err error) {
	r.spaces()
	if !r.take("@") {
		return c, errFilter
	}
	for strings.HasPrefix(r.rest, ".") || strings.HasPrefix(r.rest, "[") {
		s, err := r.step(false)
		if err != nil {
			return c, err
		}
		if s.Kind != Field {
			return c, errFilter
		}
		c.Key = c.Key.With(s)
	}
	r.spaces()
	if len(c.Key.Steps) == 0 || !r.take("==") {
		return c, errFilter
	}
	r.spaces()
	if c.Value, err = r.literal(); err != nil {
		return c, err
	}
	r.spaces()
	return c, nil
}

// literal parses a quoted string, an integer, or a boolean.
func (r *reader) literal() (any, error) {
	if strings.HasPrefix(r.rest, "'") || strings.HasPrefix(r.rest, `"`) {
		return r.quoted()
	}
	word := r.while(plain)
	if word == "true" || word == "false" {
		return word == "true", nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a key is compared with a string in quotes, an integer, true or false, not with %q", word)
	}
	return n, nil
}

// FieldNames returns the names of the fields in a path, or an error if the path is invalid or goes through a list.
func FieldNames(word string) ([]string, error) {
	path, err := ParseSteps(word)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", word, err)
	}
	names := make([]string, len(path.Steps))
	for i, s := range path.Steps {
		if s.Kind != Field {
			return nil, fmt.Errorf("%s goes through a list: only fields can be declared", word)
		}
		names[i] = s.Name
	}
	return names, nil
}
