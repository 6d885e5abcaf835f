// Package printer turns the model of an object into what a person or a script
// reads: text, tables, JSON.
package printer

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Report writes what there is to know of one object: the verdict, the counts,
// the problems, who stands in the way of a change, the pods, the conditions.
func Report(w io.Writer, r status.Report, now time.Time) error {
	p := &text{w: w}
	p.line("%s: %s: %s", objectName(r), r.Verdict, r.Reason)
	if said := lastLogLine(r); said != "" {
		p.line("%s", said)
	}
	if r.Hint != "" {
		p.line("hint: %s", r.Hint)
	}
	if len(r.Unread) > 0 && !r.Verdict.Settled() {
		p.line("note: no permission to read %s; the reason may be incomplete", strings.Join(r.Unread, ", "))
	}
	for _, revert := range r.Reverts {
		p.line("note: %s", revert.Message)
	}
	for _, b := range r.Budgets {
		p.line("note: PodDisruptionBudget/%s", b)
	}
	p.line("%s", counts(r.Replicas))
	tables := [][][]string{problemRows(r, now), podRows(r.Pods, now), conditionRows(r.Conditions, now)}
	if len(r.Problems) == 1 && r.ReasonCode == r.Problems[0].Code {
		tables[0] = nil // it was said
	}
	for _, rows := range tables {
		if len(rows) > 1 {
			p.line("")
			p.table(rows)
		}
	}
	return p.err
}

// lastLogLine is what a container that crashes wrote last, if that was read.
func lastLogLine(r status.Report) string {
	for _, p := range r.Problems {
		if p.LastLogLine != "" {
			return fmt.Sprintf("last log line of pod %s: %s", p.Pods[0], p.LastLogLine)
		}
	}
	return ""
}

// desired is the desired count as far as it is known.
func desired(c status.Replicas) string {
	if c.Unknown {
		return "unknown"
	}
	return strconv.Itoa(int(c.Desired))
}

func counts(c status.Replicas) string {
	line := fmt.Sprintf("desired %s, current %d, ready %d", desired(c), c.Current, c.Ready)
	if c.Updated != nil && *c.Updated != c.Desired {
		line += fmt.Sprintf(", updated %d", *c.Updated)
	}
	return line
}

func problemRows(r status.Report, now time.Time) [][]string {
	rows := [][]string{{"PROBLEM", "SINCE", "PODS", "MESSAGE"}}
	for _, p := range r.Problems {
		pods := ""
		if len(p.Pods) > 0 {
			pods = fmt.Sprintf("%d of %d", len(p.Pods), p.Of)
		}
		rows = append(rows, []string{string(p.Code), age(p.Since.Time, now), orNone(pods), p.Message})
	}
	return rows
}

func podRows(pods []status.Pod, now time.Time) [][]string {
	rows := [][]string{{"POD", "READY", "STATUS", "RESTARTS", "AGE", "NODE", "REASON"}}
	for _, pod := range pods {
		rows = append(rows, []string{
			pod.Name, fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.Containers), pod.Status,
			fmt.Sprint(pod.Restarts), age(pod.Created, now), orNone(pod.Node), pod.Reason,
		})
	}
	return rows
}

func conditionRows(conditions []metav1.Condition, now time.Time) [][]string {
	rows := [][]string{{"CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"}}
	for _, c := range conditions {
		rows = append(rows, []string{c.Type, string(c.Status), age(c.LastTransitionTime.Time, now), c.Reason, c.Message})
	}
	return rows
}

// text collects the first error of many writes.
type text struct {
	w   io.Writer
	err error
}

// line writes a line of which others may have chosen the words.
func (t *text) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, oneLine(fmt.Sprintf(format, args...)))
	}
}

// table writes rows in columns.
func (t *text) table(rows [][]string) { t.rows(newColumns(), rows) }

// rows writes rows in columns as kubectl does, without blanks at the ends of
// lines.
func (t *text) rows(c *columns, rows [][]string) {
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = escape.Cell(trimmed(cell))
		}
		if _, err := fmt.Fprintln(c.tabs, strings.Join(cells, "\t")); err != nil && t.err == nil {
			t.err = err
		}
	}
	if err := c.tabs.Flush(); err != nil && t.err == nil {
		t.err = err
	}
	for line := range strings.Lines(c.aligned.String()) {
		t.line("%s", line)
	}
	c.aligned.Reset()
}

// oneLine is what a server or a container said as it can stand in a line. Here
// the text of others becomes text for a terminal; colours come after.
func oneLine(s string) string { return escape.Line(trimmed(s)) }

// trimmed is a text without the blanks and the empty lines at its end.
func trimmed(s string) string { return strings.TrimRight(s, " \t\r\n") }

// columns aligns rows. It remembers the widths of the columns from one flush to
// the next.
type columns struct {
	tabs interface {
		io.Writer
		Flush() error
	}
	aligned strings.Builder
}

func newColumns() *columns {
	c := &columns{}
	c.tabs = printers.GetNewTabWriter(&c.aligned)
	return c
}

// age is the time since then, as kubectl shows it.
func age(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}

func orNone(s string) string { return cmp.Or(s, "<none>") }

// objectName names the object of a report as people do, such as "imoocpod/foo".
func objectName(r status.Report) string {
	return status.ShortType(r.Metadata.Type) + "/" + r.Metadata.Name
}
