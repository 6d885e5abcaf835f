package printer

import (
	"cmp"
	"fmt"
	"io"
	"time"
)

// Revision is one revision in the output of "history".
type Revision struct {
	Revision int64 `json:"revision"`
	// Created is when the revision got its number, or zero if it is unknown.
	Created time.Time `json:"created,omitzero"`
	// By is the user or field manager that made the revision, or "" if unknown.
	By     string `json:"by,omitempty"`
	Change string `json:"change,omitempty"`
	// NeverReady means that the revision was reverted because its pods did not become ready.
	NeverReady bool `json:"neverReady,omitempty"`
	// Current means that the object has this revision.
	Current bool `json:"current"`
}

// History writes a row for each revision.
func History(w io.Writer, revisions []Revision, now time.Time) error {
	rows := [][]string{{"REVISION", "AGE", "BY", "CHANGE"}}
	for _, r := range revisions {
		change := orNone(r.Change)
		if r.NeverReady {
			change += " (never ready)"
		}
		rows = append(rows, []string{fmt.Sprint(r.Revision), age(r.Created, now), cmp.Or(r.By, "<unknown>"), change})
	}
	return new(columns).print(w, rows)
}
