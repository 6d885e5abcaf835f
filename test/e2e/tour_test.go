package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The commands under "Try it" in the README print what the README shows, except
// for what differs each time.
func TestTour(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	_, tour, found := strings.Cut(harness.ReadFile(t, "../../README.md"), "\n## Try it\n")
	if tour, _, _ = strings.Cut(tour, "\n## "); !found {
		t.Fatal(`the README has no section "Try it"`)
	}
	cluster.StartRunController(t, ns)
	ran := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(tour, -1) {
		for step := range strings.SplitSeq("\n"+block[1], "\n$ ") {
			line, printed, _ := strings.Cut(step, "\n")
			if line == "" {
				continue
			}
			r := cluster.Shell(t, regexp.MustCompile(`kubectl imoocpod (\w+)`).ReplaceAllString(line, "kubectl imoocpod $1 -n "+ns))
			ran++
			// The README shows the change, and leaves out the progress of a wait, which a
			// terminal shows as a bar and removes at the end.
			got := r.Stdout + strings.Join(regexp.MustCompile(`(?m)^[^:\n]+: \d+ → \d+\n`).FindAllString(r.Stderr, -1), "")
			if r.Code != 0 {
				got += r.Stderr
			}
			if got, want := usual(got), usual(printed); !slices.Equal(got, want) {
				t.Errorf("%s printed\n%s\nthe README has\n%s\nstandard error: %s", line, strings.Join(got, "\n"), strings.Join(want, "\n"), r.Stderr)
			}
		}
	}
	if ran == 0 {
		t.Error("the tour has no commands")
	}
}

// usual are the lines of an output without ages and widths.
func usual(output string) []string {
	output = regexp.MustCompile(`\b\d+[smh](\d+s)?\b`).ReplaceAllString(output, "AGE")
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
