package operators

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// document is the file that contains the table, between two markers.
const document = "../../docs/any-resource.md"

// columns returns the columns of the table, which are the tests for each kind.
func columns() []string {
	return []string{"create", "scale", "scale --timeout", "status", "wait", "restart", "operator stopped", "paused", "bad image", "quota", "reverted"}
}

// rows returns the kinds, grouped by operator.
func rows() []kind {
	return []kind{
		canary(), blueGreen(), prometheus(), prometheusAgent(), alertmanager(), thanosRuler(),
		cloneSet(), advancedStatefulSet(), advancedDaemonSet(), unitedDeployment(),
	}
}

// render returns the table, which is correct if all tests have passed. Notes below the table contain longer results.
func render() string {
	var b strings.Builder
	b.WriteString("| kind | " + strings.Join(columns(), " | ") + " |\n|" + strings.Repeat(" --- |", len(columns())+1) + "\n")
	var notes []string
	for _, k := range rows() {
		b.WriteString("| " + k.row)
		for _, column := range columns() {
			note := k.not[column]
			if column == "restart" && k.unrestarted != "" {
				note = "Refused, and nothing changed: " + k.instead
			}
			words := "✓"
			if note != "" {
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
				words = fmt.Sprintf("(%d)", slices.Index(notes, note)+1)
			}
			b.WriteString(" | " + words)
		}
		b.WriteString(" |\n")
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return b.String()
}

// finishTable returns an error if the table in the document is out of date. With -write, it updates
// the table instead. Call finishTable only after all tests have passed.
func finishTable() error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	const begin, end = "<!-- operators: made by \"make test-operators\" -->\n", "<!-- operators: end -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s lacks the comments around the table", document)
	}
	whole := before + begin + render() + end + after
	if whole == string(text) {
		return nil
	}
	if !*write {
		return fmt.Errorf("the table in %s is out of date: run \"make test-operators\"", document)
	}
	return os.WriteFile(document, []byte(whole), 0o644)
}
