package printer

import (
	"fmt"
	"io"
	"slices"
)

// CountChange is a change of the replica count of one object that is to be made.
type CountChange struct {
	Namespace, Name string
	// Before and After are nil where the present count is not known.
	Before, After *int32
}

// CountChanges writes a table of changes, one row for each object.
func CountChanges(w io.Writer, changes []CountChange) error {
	several := slices.ContainsFunc(changes, func(c CountChange) bool { return c.Namespace != changes[0].Namespace })
	row := func(namespace string, cells ...string) []string {
		if several {
			return append([]string{namespace}, cells...)
		}
		return cells
	}
	rows := [][]string{row("NAMESPACE", "NAME", "BEFORE", "AFTER")}
	count := func(n *int32) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	for _, c := range changes {
		rows = append(rows, row(c.Namespace, c.Name, count(c.Before), count(c.After)))
	}
	p := &text{w: w}
	p.rows(newColumns(), rows)
	return p.err
}
