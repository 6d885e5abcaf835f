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
		lines := linesOf(value)
		if len(lines) == 1 {
			t.line("%s%s:  %s", indent, label(field), lines[0])
			return
		}
		t.line("%s%s:", indent, label(field))
		for _, line := range lines {
			t.line("%s  %s", indent, line)
		}
	}
}

// linesOf is a value in lines, of which a text may have several.
func linesOf(value any) []string {
	return strings.Split(trimmed(fmt.Sprint(value)), "\n")
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
		for _, line := range linesOf(value) {
			t.line("%s%s", indent, line)
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
