package podtemplate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func (c Candidate) text() string {
	s := c.Path.String() + " " + []string{"template", "image", "parts"}[c.Form]
	if c.Pattern {
		s += " pattern"
	}
	if len(c.Fields) > 0 {
		s += fmt.Sprint(" ", c.Fields)
	}
	return s
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	type row struct {
		Name          string
		Schema, Value map[string]any
		Want          []string
		// Chosen is the path that Choose returns, or "" if it makes no choice.
		Chosen string
	}
	rows.Run(t, "testdata/candidates.yaml", time.Time{}, func(t *testing.T, row row) {
		schema := map[string]any{"type": "object", "properties": map[string]any{"spec": row.Schema}}
		all := Candidates(schema, map[string]any{"spec": row.Value})
		var got []string
		for _, c := range all {
			got = append(got, c.text())
		}
		if !slices.Equal(got, row.Want) {
			t.Errorf("found %q, want %q", got, row.Want)
		}
		chosen := ""
		if c, is := Choose(all); is {
			chosen = c.Path.String()
		}
		if chosen != row.Chosen {
			t.Errorf("chose %q, want %q", chosen, row.Chosen)
		}
	})
}
