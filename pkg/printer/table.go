package printer

import (
	"fmt"
	"io"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
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
		rows = append(rows, t.row(r.Metadata.Namespace, r.Metadata.Name,
			fmt.Sprint(r.Replicas.Desired), fmt.Sprint(r.Replicas.Current), fmt.Sprint(r.Replicas.Ready),
			string(r.Verdict), age(r.Metadata.CreationTimestamp.Time, now), r.Reason))
	}
	p := &text{w: w}
	p.rows(t.columns, rows)
	return p.err
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
