package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/moby/term"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The live screen stays current and fits the terminal while the object is scaled and the terminal
// is resized. Ctrl-C ends the command.
func TestLiveScreen(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	s := cluster.StartTerminal(t, 80, 24, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "foo", "-n", ns, "-w")
	before, err := term.SaveState(s.TTY.Fd())
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitText("? imoocpod/foo in " + ns + ": not reconciled")
	s.AwaitText("hint: kubectl imoocpod run-controller -n " + ns)
	cluster.StartRunController(t, ns)
	s.AwaitText("✔ imoocpod/foo in " + ns + ": ready")
	s.AwaitText("3/3 ready")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "12")
	s.AwaitText("12/12 ready")
	s.AwaitText("└─ ✔ 12 ready")

	s.Resize(40, 12)
	s.AwaitScreen("truncated lines are marked, including the last", func(text string) bool { return strings.HasSuffix(text, "NoFailur…") })
	for _, size := range [][2]uint16{{40, 6}, {200, 50}, {30, 7}, {80, 24}} {
		s.Resize(size[0], size[1])
		s.AwaitScreen("the screen fits", func(text string) bool {
			return strings.HasPrefix(text, "✔ imoocpod/foo in ") && strings.Contains(text, "12/12 ready") && strings.Contains(text, "└─ ✔ 12 ready") &&
				strings.Contains(text, "NoFailure  no errors while creating pods") == (size[0] >= 80)
		})
	}
	// Typed keys are not echoed, and do not scroll the screen.
	s.Press(strings.Repeat("typed in vain\r", 30))
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "13")
	s.AwaitScreen("the screen is whole", func(text string) bool {
		return strings.HasPrefix(text, "✔ imoocpod/foo in ") && strings.Contains(text, "└─ ✔ 13 ready")
	})
	if strings.Contains(s.Written(), "typed in vain") {
		t.Error("the terminal echoes typed keys")
	}
	s.Press("\x03")
	if code := s.Wait(); code != harness.ExitInterrupted {
		t.Errorf("exit code after Ctrl-C = %d, want %d", code, harness.ExitInterrupted)
	}
	if text := s.Text(); strings.Count(text, "✔ imoocpod/foo in "+ns+": ready") != 1 || !strings.Contains(text, "└─ ✔ 13 ready") {
		t.Errorf("last screen, want the final state of 13 pods once:\n%s", text)
	}
	if strings.Contains(s.Written(), "\x1b[2J") {
		t.Error("the screen was cleared, which flickers")
	}
	s.CheckRestored(before)
}

// awaitRow waits until a terminal shows a table row that begins with these cells.
func awaitRow(s *harness.Terminal, cells ...string) {
	var quoted []string
	for _, cell := range cells {
		quoted = append(quoted, regexp.QuoteMeta(cell))
	}
	row := regexp.MustCompile(`(?m)^` + strings.Join(quoted, " +") + `( |$)`)
	s.AwaitScreen(fmt.Sprintf("the screen shows a row %q", cells), row.MatchString)
}

// A wait ends by itself with the exit code for its result. It leaves its last frame on the screen,
// below earlier output.
func TestLiveWait(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	quota(t, ns, "2")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "0")
	wait := func(cols, rows uint16, env []string, args string) *harness.Terminal {
		return cluster.StartTerminal(t, cols, rows, env, "bash", "-c", "echo before; kubectl imoocpod status -n "+ns+" "+args+"; echo after $?")
	}
	both := wait(100, 30, nil, "imoocpod/foo imoocpod/bar --wait --color never")
	awaitRow(both, "?", "imoocpod/foo", "0/2", "not reconciled")
	awaitRow(both, "?", "imoocpod/bar", "0/0", "not reconciled")
	cluster.StartRunController(t, ns)
	both.AwaitText("after 0")
	text := both.Text()
	for _, want := range []string{`(?m)^before$`, `(?m)^  NAME +READY +VERDICT +AGE +REASON$`, `(?m)^✔ imoocpod/foo +2/2 +ready `, `(?m)^✔ imoocpod/bar +0/0 +ready `, `(?m)^after 0`} {
		if len(regexp.MustCompile(want).FindAllString(text, -1)) != 1 {
			t.Errorf("want exactly one %q on the screen:\n%s", want, text)
		}
	}
	if strings.Contains(both.Written(), "\x1b[3") {
		t.Error("the output with --color never is colored")
	}

	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "5")
	failing := wait(60, 50, nil, "foo --wait --fail-after 1s")
	failing.AwaitText("after 3")
	for _, want := range []string{"before\n", "✖ imoocpod/foo in " + ns + ": failed", "exceeded quota: few", "2/5 ready", "error: imoocpod/foo has failed"} {
		if !strings.Contains(failing.Text(), want) {
			t.Errorf("want %q on the screen:\n%s", want, failing.Text())
		}
	}

	// Watch all objects while one is deleted.
	all := cluster.StartTerminal(t, 100, 30, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "-n", ns, "-w")
	awaitRow(all, "✖", "imoocpod/foo", "2/5", "failed")
	awaitRow(all, "✔", "imoocpod/bar", "0/0", "ready")
	cluster.Imoocpod(t, ns, "delete", "bar")
	all.AwaitScreen("bar is off the screen", func(text string) bool { return !strings.Contains(text, "/bar") && strings.Contains(text, "/foo") })

	// A dumb terminal shows a line for every change.
	dumb := wait(100, 30, []string{"TERM=dumb"}, "foo --wait --fail-after 1s")
	dumb.AwaitText("after 3")
	if strings.Contains(dumb.Written(), "\x1b") {
		t.Errorf("the output on a dumb terminal has escape sequences: %q", dumb.Written())
	}

	// Without a terminal, the command prints one line with the result.
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	if out, want := cluster.Imoocpod(t, ns, "status", "foo", "--wait"), "imoocpod/foo: ready: 2 of 2 pods ready\n"; out != want {
		t.Errorf("--wait printed %q, want %q", out, want)
	}
}

// Ctrl-Z restores the terminal while the process is suspended.
func TestLiveScreenIsSuspended(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	s := cluster.StartTerminal(t, 80, 24, []string{"PS1=ready> "}, "bash", "--noprofile", "--norc", "-i")
	s.AwaitText("ready>")
	s.Press("kubectl imoocpod status foo -n " + ns + " -w\r")
	s.AwaitText("? imoocpod/foo in " + ns + ": not reconciled")
	s.Press("\x1a")
	s.AwaitText("Stopped")
	if text := s.Text(); s.InAlternateScreen() || !strings.HasPrefix(text, "ready> kubectl") || strings.Contains(text, "not reconciled") {
		t.Errorf("screen after Ctrl-Z, want the main screen without the status:\n%s", text)
	}
	s.Press("fg\r")
	s.AwaitScreen("the screen is drawn again", func(text string) bool {
		return s.InAlternateScreen() && strings.HasPrefix(text, "? imoocpod/foo in "+ns+": not reconciled")
	})
	s.Press("\x03")
	s.AwaitScreen("the command has exited", func(text string) bool { return !s.InAlternateScreen() && strings.HasSuffix(text, "ready>") })
	s.Press("echo $?; stty -a\r")
	s.AwaitText(" echo ")
	s.AwaitText("130\n")
	s.Press("exit\r")
	s.Wait()
}

// Ctrl-C restores the terminal immediately, even if the program cannot exit yet because a child
// process ignores the signal. A second Ctrl-C ends the program without waiting.
func TestLiveScreenIsInterruptedTwice(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	harness.Must(t, cluster.Kubectl(t, ns, "create", "serviceaccount", "looker"))
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "looker", "--clusterrole=cluster-admin", "--serviceaccount="+ns+":looker"))
	token := strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, ns, "create", "token", "looker")))
	dir := t.TempDir()
	plugin := filepath.Join(dir, "login")
	// This credential plugin runs before each request, because its credentials are always expired.
	script := fmt.Sprintf(`#!/bin/sh
if [ -e %[1]s/deaf ]; then
	trap '' INT
	touch %[1]s/called
	while kill -0 $PPID; do sleep 0.1; done
fi
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%[2]s","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
`, dir, token)
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := cluster.KubeconfigWith(t, func(_ *clientcmdapi.Context, _ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		*user = clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			Command: plugin, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}}
	})

	s := cluster.StartTerminal(t, 80, 24, []string{"KUBECONFIG=" + kubeconfig}, "bash", "-c", "kubectl imoocpod status foo -n "+ns+" -w; echo after $?")
	before, err := term.SaveState(s.TTY.Fd())
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitText("? imoocpod/foo in " + ns + ": not reconciled")
	if err := os.WriteFile(filepath.Join(dir, "deaf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "4")
	harness.Eventually(t, "the credential plugin runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "called"))
		return err == nil
	})
	s.Press("\x03")
	s.AwaitScreen("the last frame is left", func(text string) bool {
		return !s.InAlternateScreen() && strings.Contains(text, "? imoocpod/foo in "+ns+": not reconciled")
	})
	s.CheckRestored(before)
	if strings.Contains(s.Text(), "after") {
		t.Error("the command exited after one Ctrl-C, so this test proves nothing")
	}
	harness.Eventually(t, "a later Ctrl-C ends the command", func() bool {
		s.Press("\x03")
		return strings.Contains(s.Text(), "after 130")
	})
	s.CheckRestored(before)
}
