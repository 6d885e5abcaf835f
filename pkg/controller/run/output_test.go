package run

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

func noticeOf(lines int) []byte { return fmt.Appendf(nil, "%d dropped\n", lines) }

// A fast reader gets every line in order, even after a burst.
func TestOutputLosesNothing(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	o := newOutput(w, noticeOf)
	const lines = 20000
	go func() {
		for i := range lines {
			fmt.Fprintf(o, "line %d\n", i) //nolint:errcheck // never fails
		}
		o.close()
		_ = w.Close()
	}()
	n := 0
	for scanner := bufio.NewScanner(r); scanner.Scan(); n++ {
		if want := fmt.Sprintf("line %d", n); scanner.Text() != want {
			t.Fatalf("got line %q, want %q", scanner.Text(), want)
		}
	}
	if n != lines {
		t.Errorf("got %d lines, want %d", n, lines)
	}
}

// A blocked reader does not block the loop. When the reader continues, it gets the buffered lines and
// the number of dropped lines.
func TestOutputNeverBlocks(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	o := newOutput(w, noticeOf)
	filler := strings.Repeat("x", 1000)
	const lines = 3 * mostPending / 1000
	for i := range lines {
		fmt.Fprintf(o, "%d %s\n", i, filler) //nolint:errcheck // never fails
	}
	scanner := bufio.NewScanner(r)
	n := 0
	for ; scanner.Scan() && strings.HasPrefix(scanner.Text(), fmt.Sprint(n)+" "); n++ {
	}
	if want := fmt.Sprintf("%d dropped", lines-n); scanner.Text() != want || n == 0 {
		t.Errorf("after %d of %d lines: got %q, want %q", n, lines, scanner.Text(), want)
	}
	fmt.Fprintln(o, "again") //nolint:errcheck // never fails
	if !scanner.Scan() || scanner.Text() != "again" {
		t.Errorf("after the notice: got %q, want \"again\"", scanner.Text())
	}
	fmt.Fprintln(o, "nobody reads this") //nolint:errcheck // never fails
	o.close()                            // gives up after flushTimeout
}
