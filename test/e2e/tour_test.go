package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// What the README shows in its tour is what the commands print, but for what
// differs every time.
func TestTour(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	_, tour, found := strings.Cut(harness.ReadFile(t, "../../README.md"), "\n## A short tour\n")
	if tour, _, _ = strings.Cut(tour, "\n## "); !found {
		t.Fatal("the README has no tour")
	}
	begun := false
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(tour, -1) {
		for step := range strings.SplitSeq("\n"+block[1], "\n$ ") {
			line, printed, _ := strings.Cut(step, "\n")
			// Other tests need the CRDs; TestUninstall has the words of the refusal.
			if line == "" || strings.Contains(line, "uninstall") {
				continue
			}
			r := cluster.Shell(t, regexp.MustCompile(`kubectl imoocpod (\w+)`).ReplaceAllString(line, "kubectl imoocpod $1 -n "+ns))
			// The nodes are everybody's, so how many pods an agent has is not said here.
			want := slices.DeleteFunc(usual(printed), func(l string) bool { return strings.HasPrefix(l, "mydaemonset") })
			if got := usual(r.Stdout + r.Stderr); !slices.Equal(got, want) {
				t.Errorf("%s printed\n%s\nthe README has\n%s", line, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if !begun { // the first object is made before there is a loop
				begun = true
				cluster.StartRunController(t, ns)
				cluster.Imoocpod(t, ns, "create", "appservice/web", "--replicas", "2", "--wait", "--timeout", "2m")
				cluster.Imoocpod(t, ns, "create", "helloworld/hi", "--replicas", "2", "--wait", "--timeout", "2m")
				cluster.Imoocpod(t, ns, "wait", "foo", "--timeout", "2m")
			}
		}
	}
	if !begun {
		t.Error("the tour has no commands")
	}
}

// usual are the lines of an output without ages, hashes, widths and names of nodes.
func usual(output string) []string {
	output = regexp.MustCompile(`\b\d+[smh](\d+s)?\b`).ReplaceAllString(output, "AGE")
	output = regexp.MustCompile(`-[0-9a-f]{8}-`).ReplaceAllString(output, "-HASH-")
	output = regexp.MustCompile(`\bnode-\S+`).ReplaceAllString(output, "NODE")
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
