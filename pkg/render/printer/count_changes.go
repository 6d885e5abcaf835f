package printer

import (
	"fmt"
	"io"
	"slices"
)

// CountChange is a planned change of the replica count of one object.
type CountChange struct {
	Namespace, Name string
	// Before and After are nil if the current count is unknown.
	Before, After *int32
}

// CountChanges writes a table of changes with a row for each object.
func CountChanges(w io.Writer, changes []CountChange) error {
	count := func(n *int32) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	rows := [][]string{{"NAMESPACE", "NAME", "BEFORE", "AFTER"}}
	for _, c := range changes {
		rows = append(rows, []string{c.Namespace, c.Name, count(c.Before), count(c.After)})
	}
	several := slices.ContainsFunc(changes, func(c CountChange) bool { return c.Namespace != changes[0].Namespace })
	for i := range rows {
		if !several {
			rows[i] = rows[i][1:]
		}
	}
	return new(columns).print(w, rows)
}
