package cmd

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// color is --color: auto, always or never.
type color string

func (c *color) addFlag(cmd *cobra.Command) {
	*c = "auto"
	addChoice(cmd, c, "color", `Use colors. Must be %s. "auto" uses them on a terminal unless NO_COLOR is set.`, "auto", "always", "never")
}

// style is how to write to out: in colour if that is asked for or of use
// (https://no-color.org), in ASCII where the locale has nothing else.
func (c *color) style(out io.Writer) printer.Style {
	dumb := os.Getenv("TERM") == "dumb"
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	codeset := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return printer.Style{
		Color: *c == "always" || *c == "auto" && terminal.Is(out) && !dumb && os.Getenv("NO_COLOR") == "",
		ASCII: dumb || locale != "" && !strings.Contains(codeset, "utf8"),
	}
}
