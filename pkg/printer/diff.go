package printer

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// diffContext is how many equal lines are shown around a change, as diff -u does.
const diffContext = 3

// Diff writes the unified diff of two texts, and nothing if they are equal.
func Diff(w io.Writer, fromName, toName, from, to string) error {
	p := &text{w: w}
	a, b := splitLines(from), splitLines(to)
	begin := sharedPrefix(a, b)
	lines := equalLines(a[:begin])
	a, b = a[begin:], b[begin:]
	end := sharedSuffix(a, b)
	lines = append(lines, diffLines(a[:len(a)-end], b[:len(b)-end])...)
	lines = append(lines, equalLines(a[len(a)-end:])...)
	for _, h := range hunks(lines) {
		if fromName != "" {
			p.line("--- %s", fromName)
			p.line("+++ %s", toName)
			fromName = "" // once
		}
		p.line("@@ -%s +%s @@", span(h.from, h.lines, '+'), span(h.to, h.lines, '-'))
		for _, l := range h.lines {
			p.line("%c%s", l.sign, l.text)
		}
	}
	return p.err
}

// diffLine is a line of a diff: ' ' is in both texts, '-' in the first, '+' in the second.
type diffLine struct {
	sign rune
	text string
}

// hunk is a part of a diff, with the numbers of its first lines in both texts from 0.
type hunk struct {
	from, to int
	lines    []diffLine
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// sharedPrefix is how many lines two texts begin with in common.
func sharedPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// sharedSuffix is how many lines two texts end with in common.
func sharedSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func equalLines(texts []string) []diffLine {
	all := make([]diffLine, 0, len(texts))
	for _, text := range texts {
		all = append(all, diffLine{' ', text})
	}
	return all
}

// diffLines are the lines of both texts in order, equal ones once: as many of these as
// can be.
func diffLines(a, b []string) []diffLine {
	// common[i][j] is how many lines a[i:] and b[j:] have in common, in order.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, before := range slices.Backward(a) {
		for j, after := range slices.Backward(b) {
			if before == after {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, diffLine{'-', a[i]})
			i++
		default:
			all = append(all, diffLine{'+', b[j]})
			j++
		}
	}
	return all
}

// hunks are the parts around changes. Changes that are near each other share one.
func hunks(lines []diffLine) []hunk {
	var all []hunk
	from, to, end := 0, 0, -1 // end is the index behind the last hunk
	for i, l := range lines {
		if l.sign != ' ' && i >= end {
			begin := max(i-diffContext, max(end, 0))
			end = hunkEnd(lines, i)
			all = append(all, hunk{from - (i - begin), to - (i - begin), lines[begin:end]})
		}
		if l.sign != '+' {
			from++
		}
		if l.sign != '-' {
			to++
		}
	}
	return all
}

// hunkEnd is the index behind the hunk of the change at i.
func hunkEnd(lines []diffLine, i int) int {
	last := i
	for j := i; j < len(lines) && j <= last+2*diffContext+1; j++ {
		if lines[j].sign != ' ' {
			last = j
		}
	}
	return min(last+diffContext+1, len(lines))
}

// span is the place of a hunk in one of the texts, that which does not have the lines of
// a sign.
func span(first int, lines []diffLine, without rune) string {
	n := 0
	for _, l := range lines {
		if l.sign != without {
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, n)
}
