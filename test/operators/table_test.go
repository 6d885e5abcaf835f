package operators

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// document is the file that contains the table, between two markers.
const document = "../../docs/any-resource.md"

// columns returns the columns of the table, which are the tests for each kind.
func columns() []string {
	return []string{"create", "scale", "scale --timeout", "status", "wait", "restart", "operator stopped", "paused", "bad image", "quota", "reverted"}
}

// table collects the results of the tests.
var table struct {
	sync.Mutex
	cells map[string]map[string]string
}

// rows returns the names of the kinds in the order of the operators.
func rows() []string {
	var all []string
	for _, k := range []kind{canary(), blueGreen(), prometheus(), prometheusAgent(), alertmanager(), thanosRuler(), cloneSet(), advancedStatefulSet(), advancedDaemonSet(), unitedDeployment()} {
		all = append(all, k.row)
	}
	return all
}

func cell(row, column, words string) {
	table.Lock()
	defer table.Unlock()
	if table.cells == nil {
		table.cells = map[string]map[string]string{}
	}
	if table.cells[row] == nil {
		table.cells[row] = map[string]string{}
	}
	table.cells[row][column] = words
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// render returns the table. Notes below it contain longer results.
func render() string {
	var b strings.Builder
	b.WriteString("| kind | " + strings.Join(columns(), " | ") + " |\n|" + strings.Repeat(" --- |", len(columns())+1) + "\n")
	var notes []string
	for _, k := range rows() {
		b.WriteString("| " + k)
		for _, column := range columns() {
			words, is := table.cells[k][column]
			switch {
			case !is:
				words = "missing"
			case words != "right":
				at := slices.Index(notes, words)
				if at < 0 {
					at = len(notes)
					notes = append(notes, words)
				}
				words = fmt.Sprintf("(%d)", at+1)
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

// finishTable prints the table. If all tests ran, it also compares the table with the document, or
// writes it to the document with -write.
func finishTable() error {
	made := render()
	fmt.Print(made)
	if strings.Contains(made, "missing") {
		if *write {
			return fmt.Errorf("not all tests ran, so that no table can be written")
		}
		return nil
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	const begin, end = "<!-- operators: made by \"make test-operators\", sha256 ", "<!-- operators: end -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table", document)
	}
	sum := sha256.Sum256([]byte(made))
	whole := before + begin + hex.EncodeToString(sum[:8]) + " -->\n" + made + end + after
	if whole == string(text) {
		return nil
	}
	if !*write {
		return fmt.Errorf("the table in %s is another one: run \"make test-operators\"", document)
	}
	return os.WriteFile(document, []byte(whole), 0o644)
}
