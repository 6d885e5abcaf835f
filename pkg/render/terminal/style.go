package terminal

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// Style returns the style for output to out. color is "always", "never", or "auto" (colors on a capable terminal
// without NO_COLOR, https://no-color.org). Dumb terminals, and locales that are set but not UTF-8, get ASCII.
func Style(out io.Writer, color string) printer.Style {
	dumb := os.Getenv("TERM") == "dumb"
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	codeset := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return printer.Style{
		Color: color == "always" || color == "auto" && Is(out) && !dumb && os.Getenv("NO_COLOR") == "",
		ASCII: dumb || locale != "" && !strings.Contains(codeset, "utf8"),
	}
}
