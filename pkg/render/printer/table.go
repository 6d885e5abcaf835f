package printer

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Table writes a row for each object. Later calls of Print write no headers, and never make a column narrower.
type Table struct {
	// Namespaces adds the column NAMESPACE.
	Namespaces bool
	// Wide adds the column REASON.
	Wide bool
	// Types adds the type to each name. Print sets Types as soon as an object has a type other than Type.
	Types bool
	// Type is the type that the names omit if Types is false. The default is the type of the first object.
	Type string

	columns
}

// Print writes a row for each object. The most urgent objects come first.
func (t *Table) Print(w io.Writer, reports []status.Report, now time.Time) error {
	var rows [][]string
	add := func(cells ...string) {
		if !t.Wide {
			cells = cells[:len(cells)-1]
		}
		if !t.Namespaces {
			cells = cells[1:]
		}
		rows = append(rows, cells)
	}
	add("NAMESPACE", "NAME", "DESIRED", "CURRENT", "READY", "VERDICT", "AGE", "REASON")
	reports = byUrgency(reports)
	for _, r := range reports {
		t.Type = cmp.Or(t.Type, r.Metadata.Type)
		t.Types = t.Types || r.Metadata.Type != t.Type
	}
	for _, r := range reports {
		name := r.Metadata.Name
		if t.Types {
			name = objectName(r)
		}
		add(r.Metadata.Namespace, name, desired(r.Replicas), fmt.Sprint(r.Replicas.Current), fmt.Sprint(r.Replicas.Ready),
			string(r.Verdict), age(r.Metadata.CreationTimestamp.Time, now), r.Reason)
	}
	return t.print(w, rows)
}
