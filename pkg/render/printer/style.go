package printer

import "github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"

// Style selects the colors and the characters of the output.
type Style struct {
	// Color enables escape sequences for colors and bold text.
	Color bool
	// ASCII restricts the output to ASCII.
	ASCII bool
}

// The colors, as parameters of their escape sequences.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s Style) paint(color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (s Style) sign(symbol, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return symbol
}

// Hue colors text if colors are enabled. n selects the color.
func (s Style) Hue(n uint32, text string) string {
	// These colors are readable on dark and light backgrounds. Red is reserved for problems.
	hues := [...]string{cyan, yellow, green, "34", "35", "96", "93", "92", "94", "95"}
	return s.paint(hues[n%uint32(len(hues))], text)
}

func (s Style) verdictStyle(v status.Verdict) (sign, color string) {
	switch v {
	case status.Ready:
		return s.sign("✔", "+"), green
	case status.Parked:
		return s.sign("○", "o"), dim
	case status.Failed:
		return s.sign("✖", "x"), red
	case status.NotReconciled, status.Unknown:
		return "?", yellow
	case status.Deleted:
		return s.sign("∅", "-"), dim
	}
	return s.sign("◌", "o"), yellow
}
