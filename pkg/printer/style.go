package printer

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
