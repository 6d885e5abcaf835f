package printer

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Table writes one row for each object. It may be printed again and again, for
// what changes: the headers come once, and the columns keep their widths.
type Table struct {
	// Namespaces adds the column NAMESPACE.
	Namespaces bool
	// Wide adds the column REASON.
	Wide bool
	// NoHeaders leaves out the first row.
	NoHeaders bool

	columns *columns
	first   string // the type of the first object
	types   bool   // objects of several types are in it
}

// Print writes the table.
func (t *Table) Print(w io.Writer, reports []status.Report, now time.Time) error {
	var rows [][]string
	first := t.columns == nil
	if first {
		t.columns = newColumns()
	}
	if first && !t.NoHeaders {
		rows = append(rows, t.row("NAMESPACE", "NAME", "DESIRED", "CURRENT", "READY", "VERDICT", "AGE", "REASON"))
	}
	for _, r := range reports {
		t.first = cmp.Or(t.first, r.Metadata.Type)
		t.types = t.types || r.Metadata.Type != t.first
	}
	for _, r := range reports {
		rows = append(rows, t.row(r.Metadata.Namespace, t.name(r),
			desired(r.Replicas), fmt.Sprint(r.Replicas.Current), fmt.Sprint(r.Replicas.Ready),
			string(r.Verdict), age(r.Metadata.CreationTimestamp.Time, now), r.Reason))
	}
	p := &text{w: w}
	p.rows(t.columns, rows)
	return p.err
}

// name is the name of an object, with its type where there are several.
func (t *Table) name(r status.Report) string {
	if t.types {
		return objectName(r)
	}
	return r.Metadata.Name
}

// row drops the columns that were not asked for.
func (t *Table) row(namespace, name, desired, current, ready, verdict, age, reason string) []string {
	var row []string
	if t.Namespaces {
		row = append(row, namespace)
	}
	row = append(row, name, desired, current, ready, verdict, age)
	if t.Wide {
		row = append(row, reason)
	}
	return row
}
