package printer

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// line is a line of a screen. It consists of colored pieces of text. Widths are in terminal columns,
// so a Chinese character has a width of two. Text in pieces is escaped when it is measured and drawn.
type line []piece

type piece struct{ color, text string }

func plain(text string) line { return line{{"", text}} }

func (l line) width() int {
	w := 0
	for _, p := range l {
		w += ansi.StringWidth(escape.Line(p.text))
	}
	return w
}

func (l line) add(color, text string) line { return append(l, piece{color, text}) }

func (l line) pad(width int) line { return l.add("", strings.Repeat(" ", max(0, width-l.width()))) }

// columns appends cells, each followed by two spaces, to a line that is two columns wide. A zero width omits a cell.
func (l line) columns(cells []piece, widths []int, style Style) line {
	end := 2
	for i, cell := range cells {
		if widths[i] > 0 {
			end += widths[i] + 2
			l = append(l, piece{cell.color, plain(cell.text).render(widths[i], Style{ASCII: style.ASCII})}).pad(end)
		}
	}
	return l
}

func widen(widths []int, cells []piece) {
	for i, cell := range cells {
		widths[i] = max(widths[i], plain(cell.text).width())
	}
}

// render returns a line as text, truncated to a width and without trailing spaces.
func (l line) render(width int, style Style) string {
	for len(l) > 0 && strings.TrimRight(l[len(l)-1].text, " ") == "" {
		l = l[:len(l)-1]
	}
	var b strings.Builder
	for i, p := range l {
		text := escape.Line(p.text)
		if i == len(l)-1 {
			text = strings.TrimRight(text, " ")
		}
		b.WriteString(style.paint(p.color, text))
	}
	return ansi.Truncate(b.String(), width, style.sign("…", "~"))
}

// wrapped wraps text between words, or within a word that is longer than a line. It does not break words at hyphens,
// because text contains commands to paste. most limits the number of lines, so the last line may be too wide.
func wrapped(text string, width, most int) []string {
	width = max(width, 8)
	lines := []string{""}
	for word := range strings.FieldsSeq(oneLine(text)) {
		last := len(lines) - 1
		if line := strings.TrimSpace(lines[last] + " " + word); ansi.StringWidth(line) <= width {
			lines[last] = line
			continue
		}
		lines = append(lines, strings.Split(ansi.Hardwrap(word, width, false), "\n")...)
	}
	if len(lines) > 1 && lines[0] == "" {
		lines = lines[1:] // the first word is longer than a line
	}
	if len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
	}
	return lines
}
