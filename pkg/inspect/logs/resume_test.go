package logs

import (
	"fmt"
	"testing"
	"time"
)

// at returns a fixed time plus the given number of milliseconds.
func at(milliseconds int) time.Time {
	return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(time.Duration(milliseconds) * time.Millisecond)
}

func TestResume(t *testing.T) {
	t.Parallel()
	a, b, c, d := Line{at(1000), "a"}, Line{at(1200), "b"}, Line{at(1200), "c"}, Line{at(2100), "d"}
	late := Line{at(1100), "late"}
	for name, row := range map[string]struct {
		before, after, isNew []Line
		from                 time.Time
	}{
		"first read":                         {after: []Line{a, b}, isNew: []Line{a, b}},
		"nothing new":                        {before: []Line{a, b}, after: []Line{a, b}, from: at(1000)},
		"one new line":                       {before: []Line{a, b}, after: []Line{a, b, d}, isNew: []Line{d}, from: at(1000)},
		"a new line with the same time":      {before: []Line{a, b}, after: []Line{a, b, c}, isNew: []Line{c}, from: at(1000)},
		"a new line, same text and time":     {before: []Line{a, b}, after: []Line{a, b, b}, isNew: []Line{b}, from: at(1000)},
		"two equal lines, both known":        {before: []Line{a, b, b}, after: []Line{a, b, b}, from: at(1000)},
		"known lines out of order":           {before: []Line{a, b, late}, after: []Line{a, b, late, d}, isNew: []Line{d}, from: at(1000)},
		"a new line with an earlier time":    {before: []Line{a, b}, after: []Line{a, b, late}, isNew: []Line{late}, from: at(1000)},
		"a line before the first known line": {before: []Line{b}, after: []Line{a, b, d}, isNew: []Line{d}, from: at(1000)},
		"a line without a time":              {before: []Line{a, {Text: "kubelet"}}, after: []Line{a, {Text: "kubelet"}, d}, isNew: []Line{d}, from: at(1000)},
	} {
		r := &resume{}
		for _, line := range row.before {
			r.isNew(line)
		}
		if from := r.reopen(); !from.Equal(row.from) {
			t.Errorf("%s: resumed from %s", name, from)
		}
		var isNew []Line
		for _, line := range row.after {
			if r.isNew(line) {
				isNew = append(isNew, line)
			}
		}
		if fmt.Sprint(isNew) != fmt.Sprint(row.isNew) {
			t.Errorf("%s: new lines = %v", name, isNew)
		}
	}
}

// A log is resumed at the right line, even if a second has many lines.
func TestResumeAfterManyLines(t *testing.T) {
	t.Parallel()
	r := &resume{}
	line := func(n int) Line { return Line{at(0).Add(time.Duration(n) * time.Microsecond), "the same"} }
	for n := range 3000 {
		r.isNew(line(n))
	}
	if from := r.reopen(); !from.Equal(at(0)) {
		t.Errorf("resumed from %s, want the start of the second", from)
	}
	for n := range 4000 {
		if isNew := r.isNew(line(n)); isNew != (n >= 3000) {
			t.Fatalf("line %d: isNew = %t", n, isNew)
		}
	}
}
