package printer

import "github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"

// Style says what a terminal can show.
type Style struct {
	// Color: escape sequences for colours and bold are understood.
	Color bool
	// ASCII: nothing but ASCII is.
	ASCII bool
}

// The colours, as parameters of the escape sequence that sets them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint gives text a colour, where there are colours.
func (s Style) paint(color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// sign is a symbol, or what stands for it in ASCII.
func (s Style) sign(symbol, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return symbol
}

// Hue gives text one of a few colours, where there are colours: texts of the same
// number have the same one.
func (s Style) Hue(n uint32, text string) string {
	// Bright ones are told apart on dark and on light. Red stays with what is wrong.
	hues := [...]string{cyan, yellow, green, "34", "35", "96", "93", "92", "94", "95"}
	return s.paint(hues[n%uint32(len(hues))], text)
}

// look is how a verdict is shown: a sign and a colour.
func (s Style) look(v status.Verdict) (sign, color string) {
	switch v {
	case status.Ready:
		return s.sign("✔", "+"), green
	case status.Parked:
		return s.sign("○", "o"), dim
	case status.Failed:
		return s.sign("✖", "x"), red
	case status.NotReconciled:
		return "?", yellow
	case status.Deleted:
		return s.sign("∅", "-"), dim
	}
	return s.sign("◌", "o"), yellow
}
