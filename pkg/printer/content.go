package printer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// content writes a field of any object and what is in it, in the layout of
// kubectl describe: a label made of the field's name, and its value beside it or
// indented below (k8s.io/kubectl/pkg/describe, printUnstructuredContent).
func (t *text) content(field string, value any, indent string) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		t.line("%s%s:", indent, label(field))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			t.content(key, value[key], indent+"  ")
		}
	case []any:
		t.line("%s%s:", indent, label(field))
		for _, item := range value {
			t.item(item, indent+"  ")
		}
	default:
		lines := safeLines(value)
		if len(lines) == 1 {
			t.line("%s", strings.TrimRight(indent+label(field)+":  "+lines[0], " "))
			return
		}
		t.line("%s%s:", indent, label(field))
		for _, line := range lines {
			t.line("%s", strings.TrimRight(indent+"  "+line, " "))
		}
	}
}

// safeLines is a value as it may be written: a text may have several lines, and
// what would move a terminal's cursor is shown instead of sent.
func safeLines(value any) []string {
	lines := strings.Split(strings.TrimRight(fmt.Sprint(value), " \t\r\n"), "\n")
	for i, line := range lines {
		lines[i] = oneLine(line)
	}
	return lines
}

// item writes an element of a list: the fields of an object, what another
// list has, or a value.
func (t *text) item(value any, indent string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			t.content(key, value[key], indent)
		}
	case []any:
		for _, item := range value {
			t.item(item, indent+"  ")
		}
	default:
		for _, line := range safeLines(value) {
			t.line("%s", strings.TrimRight(indent+line, " "))
		}
	}
}

// label makes words of a field's name: "readyReplicas" becomes "Ready
// Replicas", "clusterIP" becomes "Cluster IP", what is no such name stays.
func label(field string) string {
	if strings.ContainsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return field
	}
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
