// Package printer formats reports on objects as text, tables, and screens.
package printer

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// text writes lines. Flush returns the first error.
type text struct{ *bufio.Writer }

func newText(w io.Writer) *text { return &text{bufio.NewWriter(w)} }

func (t *text) line(format string, args ...any) {
	_, _ = fmt.Fprintln(t, oneLine(fmt.Sprintf(format, args...)))
}

func (t *text) table(rows [][]string) { _ = new(columns).print(t.Writer, rows) }

// oneLine returns text as one escaped line. Colors must be added after this call.
func oneLine(s string) string { return escape.Line(trimmed(s)) }

func trimmed(s string) string { return strings.TrimRight(s, " \t\r\n") }

// columns aligns rows. It keeps the widths of the columns between calls of print.
type columns struct {
	// NoHeaders omits the header row.
	NoHeaders bool

	// tabs is nil until the first call of print.
	tabs interface {
		io.Writer
		Flush() error
	}
	aligned strings.Builder
}

// print writes rows like kubectl, without trailing spaces. Only the first call writes the header, which is rows[0].
func (c *columns) print(w io.Writer, rows [][]string) error {
	if c.NoHeaders || c.tabs != nil {
		rows = rows[1:]
	}
	if c.tabs == nil {
		c.tabs = printers.GetNewTabWriter(&c.aligned)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = escape.Column(trimmed(cell)); i == len(row)-1 {
				cells[i] = escape.Cell(trimmed(cell))
			}
		}
		_, _ = fmt.Fprintln(c.tabs, strings.Join(cells, "\t")) // a strings.Builder returns no error
	}
	_ = c.tabs.Flush()
	t := newText(w)
	for line := range strings.Lines(c.aligned.String()) {
		t.line("%s", line)
	}
	c.aligned.Reset()
	return t.Flush()
}

// age formats the time from then to now like kubectl, or returns <unknown> if then is zero.
func age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}

func orNone(s string) string { return cmp.Or(s, "<none>") }
