package logs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func linesOf(t *testing.T, log io.Reader) (lines []string, rest string) {
	t.Helper()
	r := newLineReader(log)
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return lines, line
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", maxLine)
	for name, row := range map[string]struct {
		log   string
		lines []string
		rest  string
	}{
		"empty log":                               {},
		"one line":                                {log: "a\n", lines: []string{"a"}},
		"empty lines":                             {log: "\n\n", lines: []string{"", ""}},
		"a last line without a newline":           {log: "a\nb", lines: []string{"a"}, rest: "b"},
		"Windows line endings":                    {log: "a\r\nb\r\n", lines: []string{"a", "b"}},
		"a carriage return within a line":         {log: "a\rb\n", lines: []string{"a\rb"}},
		"as long as allowed":                      {log: full + "\n" + "a\n", lines: []string{full, "a"}},
		"as long as allowed, Windows line ending": {log: full + "\r\n", lines: []string{full}},
		"one byte too long":                       {log: full + "y\na\n", lines: []string{full + cutMark, "a"}},
		"two bytes too long":                      {log: full + "yz\na\n", lines: []string{full + cutMark, "a"}},
		"ten megabytes":                           {log: strings.Repeat("x", 10<<20) + "\na\n", lines: []string{full + cutMark, "a"}},
		"ten megabytes without a newline":         {log: strings.Repeat("x", 10<<20), rest: full + cutMark},
	} {
		lines, rest := linesOf(t, strings.NewReader(row.log))
		if !slices.Equal(lines, row.lines) || rest != row.rest {
			t.Errorf("%s: unexpected lines: %d lines, and a rest of %d bytes", name, len(lines), len(rest))
		}
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 10, 0, 0, 5, time.UTC)
	for text, want := range map[string]Line{
		"2026-11-22T10:00:00.000000005Z hello world":  {at, "hello world"},
		"2026-11-22T10:00:00.000000005Z ":             {at, ""},
		"2026-11-22T10:00:00.000000005Z  two":         {at, " two"},
		"2026-11-22T11:00:00.000000005+01:00 hello":   {at, "hello"},
		"failed to create fsnotify watcher: too many": {Text: "failed to create fsnotify watcher: too many"},
		"unable to retrieve container logs for x://y": {Text: "unable to retrieve container logs for x://y"},
		"2026-11-22T10:00:00.000000005Z":              {Text: "2026-11-22T10:00:00.000000005Z"},
		"":                                            {},
	} {
		if got := parseLine(text); !got.Time.Equal(want.Time) || got.Text != want.Text {
			t.Errorf("parseLine(%q) = %v", text, got)
		}
	}
}

// The lines do not depend on the size of the reads. No line exceeds the limit, and uncut lines are complete.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 1)
	f.Add([]byte("\r\r\n\n\r"), 2)
	f.Add([]byte("one and a half"), 8000)
	f.Fuzz(func(t *testing.T, piece []byte, times int) {
		log := bytes.Repeat(piece, min(max(times, 0), 20_000, 1<<20/(len(piece)+1)))
		lines, rest := linesOf(t, bytes.NewReader(log))
		slow, slowRest := linesOf(t, iotest.HalfReader(bytes.NewReader(log)))
		if !slices.Equal(lines, slow) || rest != slowRest {
			t.Error("the lines depend on the size of the reads")
		}
		want := strings.Split(string(log), "\n")
		if len(want) != len(lines)+1 {
			t.Fatalf("%d lines, want %d", len(lines), len(want)-1)
		}
		for i, line := range append(lines, rest) {
			whole := strings.TrimSuffix(want[i], "\r")
			switch cut, is := strings.CutSuffix(line, cutMark); {
			case line == whole:
			case !is || len(cut) != maxLine || !strings.HasPrefix(whole, cut):
				t.Errorf("line %d = %q, want %q, or its beginning with the cut mark", i, line, whole)
			}
			if len(line) > maxLine+len(cutMark) {
				t.Errorf("line %d has %d bytes, which exceeds the limit", i, len(line))
			}
		}
	})
}
