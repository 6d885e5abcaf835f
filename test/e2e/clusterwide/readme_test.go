package clusterwide

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// TestReadme runs the commands of the README in order: the first block, and then the blocks from "Try it" on. A command
// must print the output in the README, and exit with the code in its comment. "make demo" runs only this test with -v.
func TestReadme(t *testing.T) {
	// Other tests need the CRDs.
	defer cluster.Imoocpod(t, "", "install")

	readme := harness.ReadFile(t, "../../../README.md")
	_, tour, found := strings.Cut(readme, "\n## Try it\n")
	if !found {
		t.Fatal(`the README has no section "Try it"`)
	}
	session := newSession(t)
	blocks := regexp.MustCompile("(?ms)^```(console|sh)\n(.*?)^```$")
	// The first block shows the plugin before anything is installed.
	opening := append(blocks.FindAllStringSubmatch(readme, 1), []string{"", "sh", "kubectl delete deployment broken"})
	for _, block := range append(opening, blocks.FindAllStringSubmatch(tour, -1)...) {
		if block[1] == "sh" {
			for line := range strings.Lines(block[2]) {
				session.types(strings.TrimSpace(line))
			}
			continue
		}
		for step := range strings.SplitSeq("\n"+block[2], "\n$ ") {
			line, printed, _ := strings.Cut(step, "\n")
			if line == "" {
				continue
			}
			if got, want := usual(session.types(line)), usual(printed); !slices.EqualFunc(got, want, shows) {
				t.Errorf("%s printed\n%s\nthe README has\n%s", line, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if session.commands == 0 {
		t.Error("the README has no commands")
	}
}

// session runs the commands of a document in a shell, like a reader.
type session struct {
	t              *testing.T
	env            []string
	namespace, dir string

	controller *harness.Process
	// code is the exit code of the last command.
	code, commands int
}

// newSession returns a session in a new namespace and an empty directory.
func newSession(t *testing.T) *session {
	t.Helper()
	ns := cluster.NewNamespace(t)
	kubeconfig := cluster.KubeconfigWith(t, func(current *clientcmdapi.Context, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		current.Namespace = ns
	})
	return &session{t: t, namespace: ns, dir: t.TempDir(), env: append(cluster.Environment(), "KUBECONFIG="+kubeconfig)}
}

// types runs a line, and returns its output. It checks the exit code, unless the output shows an error
// and no comment names a code. A controller runs in the background until the next controller starts.
func (s *session) types(line string) string {
	s.t.Helper()
	line, comment, _ := strings.Cut(line, " #")
	line = strings.TrimSpace(line)
	s.commands++
	if args, is := strings.CutPrefix(line, "kubectl imoocpod run-controller"); is {
		if s.controller != nil {
			s.controller.Stop()
		}
		s.controller = cluster.StartRunController(s.t, s.namespace, strings.Fields(args)...)
		s.controller.AwaitOutput("Starting the controller")
		return ""
	}
	last := s.code
	c := exec.CommandContext(s.t.Context(), "bash", "-c", "(exit "+strconv.Itoa(last)+"); "+line)
	c.Env, c.Dir = s.env, s.dir
	out, err := c.CombinedOutput()
	s.code = c.ProcessState.ExitCode()
	s.t.Logf("$ %s\n%s", line, out)
	wanted := "0"
	code := regexp.MustCompile(`exits with (\d+)`).FindStringSubmatch(comment)
	if code != nil {
		wanted = code[1]
	}
	if shown := strings.Contains(string(out), "error: "); strconv.Itoa(s.code) != wanted && (code != nil || !shown) {
		s.t.Errorf("%s: error %v, want exit code %s\n%s", line, err, wanted, out)
	}
	return string(out)
}

// shows reports whether a line of output matches a line of the README, in which "…" stands for any text.
func shows(got, want string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$").MatchString(got)
}

// usual returns the lines of an output without the progress of a wait, because a terminal would overwrite the progress.
// It replaces ages, and drops column widths and empty lines.
func usual(output string) []string {
	output = regexp.MustCompile(`\b\d+[smh](\d+s)?\b`).ReplaceAllString(output, "AGE")
	var lines []string
	for line := range strings.Lines(output) {
		progress := regexp.MustCompile(`^\S+: (ready|progressing|failed|not reconciled)\b`).MatchString(line)
		if line = strings.Join(strings.Fields(line), " "); line != "" && !progress {
			lines = append(lines, line)
		}
	}
	return lines
}
