package printer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// content writes a field of any object, like printUnstructuredContent in kubectl describe. The label is derived from
// the name of the field. The value is next to the label, or indented below it. For a list element, field is "".
func (t *text) content(field string, value any, indent string) {
	fields, isObject := value.(map[string]any)
	items, isList := value.([]any)
	var lines []string // of any other value
	if !isObject && !isList {
		lines = strings.Split(trimmed(fmt.Sprint(value)), "\n")
	}
	below := indent
	switch {
	case field == "":
	case value == nil:
		return
	case len(lines) == 1:
		t.line("%s%s:  %s", indent, label(field), lines[0])
		return
	default:
		t.line("%s%s:", indent, label(field))
		below += "  "
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		t.content(key, fields[key], below)
	}
	for _, item := range items {
		t.content("", item, indent+"  ")
	}
	for _, line := range lines {
		t.line("%s%s", below, line)
	}
}

// label derives a label from the name of a field: "readyReplicas" becomes "Ready Replicas", and "clusterIP"
// becomes "Cluster IP". It does not change a name with characters other than letters and digits.
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
