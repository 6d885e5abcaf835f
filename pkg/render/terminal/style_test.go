package terminal

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// TERM and the locale select the characters, and --color selects the colors.
func TestStyle(t *testing.T) {
	for _, test := range []struct {
		color, term, locale string
		want                printer.Style
	}{
		{"auto", "xterm", "en_US.UTF-8", printer.Style{}},
		{"always", "xterm", "de_DE.utf8", printer.Style{Color: true}},
		{"never", "xterm", "", printer.Style{}},
		{"always", "xterm", "C", printer.Style{Color: true, ASCII: true}},
		{"auto", "dumb", "en_US.UTF-8", printer.Style{ASCII: true}},
	} {
		t.Setenv("TERM", test.term)
		t.Setenv("LC_ALL", test.locale)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", "")
		if got := Style(&strings.Builder{}, test.color); got != test.want {
			t.Errorf("%+v: style %+v", test, got)
		}
	}
}
