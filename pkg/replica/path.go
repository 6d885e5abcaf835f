package replica

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path is a JSONPath to one integer under an object's .spec. It goes through
// fields (.size, ["a.b"]), through one element of a list by its index ([0]) and
// through one element by its keys ([?(@.name=="hot")]), and through nothing
// that could mean several places: a count is written to one of them.
//
// The grammar is this package's own: client-go's JSONPath returns values, not
// places, and other libraries do not take kubectl's escapes and names with
// dashes, which are what people type.
type Path struct {
	steps []step
}

// stepKind says what a step of a path goes through.
type stepKind int

const (
	field stepKind = iota
	element
	selection
)

// step is one step of a path.
type step struct {
	kind  stepKind
	name  string       // of the field
	index int          // of the element
	where []comparison // what the selected element has; all of it
}

// comparison is a key of an element and its value: a string, int64 or bool.
type comparison struct {
	key   []string
	value any
}

// place is where something is in an object: names of fields (string) and
// indexes of elements (int).
type place []any

// String is the path in the form that ParsePath reads: names that are not plain
// in brackets and double quotes, so that all of it fits into a shell's single
// quotes.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p.steps {
		switch s.kind {
		case field:
			writeName(&b, s.name)
		case element:
			fmt.Fprintf(&b, "[%d]", s.index)
		case selection:
			b.WriteString("[?(")
			for i, c := range s.where {
				if i > 0 {
					b.WriteString(" && ")
				}
				b.WriteByte('@')
				for _, name := range c.key {
					writeName(&b, name)
				}
				b.WriteString("==")
				if text, is := c.value.(string); is {
					b.WriteString(quote(text))
				} else {
					fmt.Fprint(&b, c.value)
				}
			}
			b.WriteString(")]")
		}
	}
	return b.String()
}

func writeName(b *strings.Builder, name string) {
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		b.WriteString("." + name)
		return
	}
	b.WriteString("[" + quote(name) + "]")
}

// plain says that a rune needs no quotes anywhere.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// locate follows the path into an object as far as it goes, and returns where
// that is, what is there and how many steps it took. It is an error if a step
// finds several places, or a value that has no such places in it.
func (p Path) locate(obj map[string]any) (at place, value any, taken int, err error) {
	value = obj
	for i, s := range p.steps {
		if value == nil {
			break // null is as good as absent
		}
		if err := s.fits(value, Path{p.steps[:i]}); err != nil {
			return nil, nil, 0, err
		}
		keys := s.find(value)
		if len(keys) > 1 {
			return nil, nil, 0, fmt.Errorf("%s matches %d places: select one by a key that only it has", Path{p.steps[:i+1]}, len(keys))
		}
		if len(keys) == 0 {
			break
		}
		at, taken = append(at, keys[0]), i+1
		value = inside(value, keys[0])
	}
	return at, value, taken, nil
}

// inside is what a value holds under a name or an index that find gave.
func inside(value, key any) any {
	switch container := value.(type) {
	case map[string]any:
		if name, ok := key.(string); ok {
			return container[name]
		}
	case []any:
		if i, ok := key.(int); ok {
			return container[i]
		}
	}
	return nil
}

// find returns the names or indexes in a value that the step goes through.
func (s step) find(value any) place {
	var found place
	switch value := value.(type) {
	case map[string]any:
		if _, there := value[s.name]; there {
			found = append(found, s.name)
		}
	case []any:
		for i, e := range value {
			if (s.kind == element && i == s.index) || (s.kind == selection && s.selects(e)) {
				found = append(found, i)
			}
		}
	}
	return found
}

// selects says whether an element of a list has the keys of the step.
func (s step) selects(e any) bool {
	for _, c := range s.where {
		value := e
		for _, name := range c.key {
			fields, _ := value.(map[string]any)
			value = fields[name]
		}
		if n, is := integer(value); is {
			value = n
		}
		if value != c.value {
			return false
		}
	}
	return true
}

// fits says whether the value at the path so far can have what the step goes
// through. An object is no list to the filter: only the elements of a list are
// told apart by their keys.
func (s step) fits(value any, at Path) error {
	_, isObject := value.(map[string]any)
	_, isList := value.([]any)
	switch {
	case s.kind == field && isList:
		return fmt.Errorf(`%s is a list: select one of its elements by a key, as in %[1]s[?(@.name=="…")]`, at)
	case s.kind == field && !isObject:
		return fmt.Errorf("%s is %s, not an object", at, describe(value))
	case s.kind != field && !isList:
		return fmt.Errorf("%s is %s, not a list", at, describe(value))
	}
	return nil
}

// Get reads the integer at the path. It is not found where the object has
// nothing there, or null. It is an error if the path matches several places, if
// it goes through a value of the wrong type, and if the value is no integer.
func (p Path) Get(obj map[string]any) (n int64, found bool, err error) {
	_, value, taken, err := p.locate(obj)
	if err != nil {
		return 0, false, err
	}
	if taken < len(p.steps) || value == nil {
		return 0, false, nil
	}
	n, is := integer(value)
	if !is {
		return 0, false, p.notInteger(value)
	}
	return n, true, nil
}

func (p Path) notInteger(value any) error {
	return fmt.Errorf("%s is %s, not an integer", p, describe(value))
}

// integer is the value of a number as it occurs in an unstructured object: an
// int64, or a float64 that has no fraction.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		// The highest float64 below 2^63 and the lowest int64 itself are exact.
		if n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64 {
			return int64(n), true
		}
	}
	return 0, false
}

// describe says what a value is.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprint(value)
}

// ParsePath reads a path as people write it: .spec.replicas, spec.replicas,
// $.spec.replicas or {.spec.replicas}, with names that hold other characters as
// ['a.b'], ["a.b"] or a\.b, and with [0] or [?(@.name=="hot")] for one element
// of a list; several keys are joined by &&. In quotes a backslash takes the next
// character as it is.
//
// It is an error if the path is empty or not under .spec, where Kubernetes keeps
// what is desired, and if it could mean several places by what it says: with
// wildcards, slices, unions, recursive descent, or filters that do not compare
// keys by ==.
func ParsePath(s string) (Path, error) {
	p, err := parsePath(s)
	if err != nil {
		return Path{}, fmt.Errorf("path %q: %w", s, err)
	}
	return p, nil
}

func parsePath(s string) (Path, error) {
	if !utf8.ValidString(s) {
		return Path{}, errors.New("it is not UTF-8")
	}
	s = strings.TrimSpace(s)
	if inner, opened := strings.CutPrefix(s, "{"); opened {
		inner, closed := strings.CutSuffix(inner, "}")
		if !closed {
			return Path{}, errors.New("there is no } for the {")
		}
		s = strings.TrimSpace(inner)
	}
	s = strings.TrimPrefix(s, "$")
	if s == "" || s == "." {
		return Path{}, errors.New("it is empty; a path reads like .spec.replicas")
	}
	r := reader{rest: s}
	var steps []step
	for r.rest != "" {
		next, err := r.step(len(steps) == 0)
		if err != nil {
			return Path{}, err
		}
		steps = append(steps, next)
	}
	switch {
	case steps[0].kind != field || steps[0].name != "spec":
		return Path{}, fmt.Errorf("%s is outside .spec, and only there is a count to be changed", Path{steps[:1]})
	case len(steps) == 1:
		return Path{}, errors.New("it is all of .spec; name the field in it that holds the count")
	case steps[len(steps)-1].kind == selection:
		return Path{}, errors.New("it ends with an element of a list; name the field in it that holds the count")
	}
	return Path{steps}, nil
}

var (
	errWildcard = errors.New("a wildcard can mean several places; name the field, or select one element by a key")
	errDescent  = errors.New("recursive descent (..) can mean several places; name the fields on the way")
	errSeveral  = errors.New("a slice or union means several places; give one index, or select one element by a key")
	errNegative = errors.New("an index counts from 0; select the element by a key instead")
	errFunction = errors.New("functions and scripts are not taken; a path only names fields and elements")
	errFilter   = errors.New(`a filter compares keys of an element with values by ==, as in [?(@.name=="hot")], joined by &&`)
)

// reader reads a path from its front.
type reader struct{ rest string }

// take removes the prefix and says whether it was there.
func (r *reader) take(prefix string) bool {
	rest, had := strings.CutPrefix(r.rest, prefix)
	r.rest = rest
	return had
}

func (r *reader) spaces() { r.rest = strings.TrimLeft(r.rest, " \t") }

// unexpected is an error that shows what is left.
func (r *reader) unexpected(want string) error {
	switch {
	case r.rest == "":
		return fmt.Errorf("%s is missing at the end", want)
	case r.rest[0] == '(':
		return errFunction
	}
	return fmt.Errorf("%s is missing before %q", want, r.rest)
}

func (r *reader) step(first bool) (step, error) {
	if r.take("[") {
		return r.bracket()
	}
	if !r.take(".") && !first {
		return step{}, r.unexpected(". or [")
	}
	switch {
	case r.take("."):
		return step{}, errDescent
	case r.take("*"):
		return step{}, errWildcard
	}
	name, err := r.name()
	return step{kind: field, name: name}, err
}

// bracket reads what follows a [, and the ].
func (r *reader) bracket() (step, error) {
	r.spaces()
	s, err := r.inBracket()
	if err != nil {
		return step{}, err
	}
	r.spaces()
	switch {
	case r.take("]"):
		return s, nil
	case s.kind == selection:
		return step{}, errFilter
	case r.take(","), r.take(":"):
		return step{}, errSeveral
	}
	return step{}, r.unexpected("]")
}

func (r *reader) inBracket() (step, error) {
	switch {
	case r.take("*"):
		return step{}, errWildcard
	case r.take(":"):
		return step{}, errSeveral
	case r.take("-"):
		return step{}, errNegative
	case r.take("?"):
		where, err := r.filter()
		return step{kind: selection, where: where}, err
	case strings.HasPrefix(r.rest, "'"), strings.HasPrefix(r.rest, `"`):
		name, err := r.quoted()
		return step{kind: field, name: name}, err
	}
	digits := r.while(func(c rune) bool { return c >= '0' && c <= '9' })
	if digits == "" {
		return step{}, r.unexpected("an index, a name in quotes or a filter")
	}
	index, err := strconv.ParseInt(digits, 10, 32) // no list is longer
	if err != nil {
		return step{}, fmt.Errorf("the index %s is too high", digits)
	}
	return step{kind: element, index: int(index)}, nil
}

// while takes the runes for which ok holds.
func (r *reader) while(ok func(rune) bool) string {
	end := strings.IndexFunc(r.rest, func(c rune) bool { return !ok(c) })
	if end < 0 {
		end = len(r.rest)
	}
	taken := r.rest[:end]
	r.rest = r.rest[end:]
	return taken
}

// name reads a name without quotes, as kubectl's JSONPath does: up to a
// character that means something, with a backslash before one that does not.
func (r *reader) name() (string, error) {
	var b strings.Builder
	for {
		b.WriteString(r.while(func(c rune) bool { return !strings.ContainsRune(" \t\r\n.,:;[](){}$@*?'\"\\=!<>&|", c) }))
		if !r.take(`\`) {
			break
		}
		c, size := utf8.DecodeRuneInString(r.rest)
		if size == 0 {
			return "", errors.New("there is nothing after the last backslash")
		}
		b.WriteRune(c)
		r.rest = r.rest[size:]
	}
	if b.Len() == 0 {
		return "", r.unexpected("the name of a field")
	}
	if strings.HasPrefix(r.rest, "(") {
		return "", errFunction
	}
	return b.String(), nil
}

// quoted reads a string in single or double quotes.
func (r *reader) quoted() (string, error) {
	mark := rune(r.rest[0])
	var b strings.Builder
	escaped := false
	for i, c := range r.rest[1:] {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == mark:
			r.rest = r.rest[1+i+1:]
			return b.String(), nil
		default:
			b.WriteRune(c)
		}
	}
	return "", fmt.Errorf("the quote of %s is not closed", r.rest)
}

// filter reads what follows the ? of a filter, up to the ].
func (r *reader) filter() ([]comparison, error) {
	r.spaces()
	inParentheses := r.take("(")
	var all []comparison
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

func (r *reader) comparison() (c comparison, err error) {
	r.spaces()
	if !r.take("@") {
		return c, errFilter
	}
	for strings.HasPrefix(r.rest, ".") || strings.HasPrefix(r.rest, "[") {
		s, err := r.step(false)
		if err != nil {
			return c, err
		}
		if s.kind != field {
			return c, errFilter
		}
		c.key = append(c.key, s.name)
	}
	r.spaces()
	if len(c.key) == 0 || !r.take("==") {
		return c, errFilter
	}
	r.spaces()
	if c.value, err = r.literal(); err != nil {
		return c, err
	}
	r.spaces()
	return c, nil
}

// literal reads a string in quotes, an integer or a boolean.
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
