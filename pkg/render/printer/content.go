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
	below := indent
	title := func() {
		if field != "" {
			t.line("%s%s:", indent, label(field))
			below += "  "
		}
	}
	switch value := value.(type) {
	case map[string]any:
		title()
		for _, key := range slices.Sorted(maps.Keys(value)) {
			t.content(key, value[key], below)
		}
	case []any:
		title()
		for _, item := range value {
			t.content("", item, indent+"  ")
		}
	default:
		lines := strings.Split(trimmed(fmt.Sprint(value)), "\n")
		switch {
		case value == nil && field != "":
			return
		case len(lines) == 1 && field != "":
			t.line("%s%s:  %s", indent, label(field), lines[0])
			return
		}
		title()
		for _, line := range lines {
			t.line("%s%s", below, line)
		}
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
