package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/moby/term"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// resize makes the terminal another size, as dragging the corner of its window does.
func (s *screen) resize(cols, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.now.Resize(cols, rows)
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

// drawn says whether something is drawn on the terminal's second screen.
func (s *screen) drawn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Mode()&vt10x.ModeAltScreen != 0
}

// asItWas checks that nothing of what a program did to the terminal has stayed.
func (s *screen) asItWas(before *term.State) {
	s.t.Helper()
	if after, err := term.SaveState(s.tty.Fd()); err != nil || *after != *before {
		s.t.Errorf("the terminal's settings have changed (%v)", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Mode()&vt10x.ModeAltScreen != 0 || s.now.Mode()&vt10x.ModeWrap == 0 || !s.now.CursorVisible() {
		s.t.Errorf("the terminal is left in the mode %b", s.now.Mode())
	}
}

// Somebody looks on while an object is scaled and the terminal changes its size,
// and stops it with Ctrl-C.
func TestLiveScreen(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "3")
	s := startScreen(t, 80, 24, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "foo", "-n", ns, "-w")
	before, err := term.SaveState(s.tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	s.shows("? ImoocPod/foo in " + ns + ": not reconciled")
	s.shows("hint: kubectl imoocpod run-controller -n " + ns)
	startLoop(t, ns)
	s.shows("✔ ImoocPod/foo in " + ns + ": ready")
	s.shows("3/3 ready")
	imoocpod(t, ns, "scale", "foo", "--replicas", "12")
	s.shows("12/12 ready")
	s.shows("└─ ✔ 12 ready")

	s.resize(40, 12)
	s.becomes("a line that is cut says so, also the last", func(text string) bool { return strings.HasSuffix(text, "NoFailur…") })
	for _, size := range [][2]int{{40, 6}, {200, 50}, {30, 7}, {80, 24}} {
		s.resize(size[0], size[1])
		s.becomes("the screen fits", func(text string) bool {
			return strings.HasPrefix(text, "✔ ImoocPod/foo in ") && strings.Contains(text, "12/12 ready") && strings.Contains(text, "└─ ✔ 12 ready") &&
				strings.Contains(text, "NoFailure  no create was refused") == (size[0] >= 80)
		})
	}
	// What is typed neither shows nor moves what is there.
	s.press(strings.Repeat("typed in vain\r", 30))
	imoocpod(t, ns, "scale", "foo", "--replicas", "13")
	s.becomes("the screen is whole", func(text string) bool {
		return strings.HasPrefix(text, "✔ ImoocPod/foo in ") && strings.Contains(text, "└─ ✔ 13 ready")
	})
	if strings.Contains(s.written(), "typed in vain") {
		t.Error("the terminal echoes what is typed")
	}
	s.press("\x03")
	if code := s.ends(); code != 130 {
		t.Errorf("Ctrl-C ended it with %d", code)
	}
	if text := s.text(); strings.Count(text, "✔ ImoocPod/foo in "+ns+": ready") != 1 || !strings.Contains(text, "└─ ✔ 13 ready") {
		t.Errorf("it leaves\n%s", text)
	}
	if strings.Contains(s.written(), "\x1b[2J") {
		t.Error("the screen was cleared, which flickers")
	}
	s.asItWas(before)
}

// A wait ends by itself, with the code of what came of it, and leaves the last
// frame below what was there.
func TestLiveWait(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	apply(t, ns, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: 2}}")
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	imoocpod(t, ns, "create", "bar", "--replicas", "0")
	wait := func(cols, rows int, env []string, args string) *screen {
		return startScreen(t, cols, rows, env, "bash", "-c", "echo before; kubectl imoocpod status -n "+ns+" "+args+"; echo after $?")
	}
	both := wait(100, 30, nil, "imoocpod/foo imoocpod/bar --wait --color never")
	both.shows("ImoocPod/foo in " + ns + ": not reconciled")
	both.shows("ImoocPod/bar in " + ns + ": not reconciled")
	startLoop(t, ns)
	both.shows("after 0")
	text := both.text()
	for _, want := range []string{"before\n", "\n✔ ImoocPod/foo in " + ns + ": ready\n", "2/2 ready", "\n✔ ImoocPod/bar in " + ns + ": ready\n", "\nafter 0"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("there is not one %q in what it leaves:\n%s", want, text)
		}
	}
	if strings.Contains(both.written(), "\x1b[3") {
		t.Error("it is coloured")
	}

	imoocpod(t, ns, "scale", "foo", "--replicas", "5")
	failing := wait(60, 50, nil, "foo --wait --fail-after 1s")
	failing.shows("after 3")
	for _, want := range []string{"before\n", "✖ ImoocPod/foo in " + ns + ": failed", "exceeded quota: few", "2/5 ready", "error: imoocpod.batch.tutorial.kubebuilder.io/foo has failed"} {
		if !strings.Contains(failing.text(), want) {
			t.Errorf("there is no %q in what it leaves:\n%s", want, failing.text())
		}
	}

	// All there are, while one goes.
	all := startScreen(t, 100, 30, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "-n", ns, "-w")
	all.shows("/foo in " + ns + ": failed")
	all.shows("/bar in " + ns + ": ready")
	imoocpod(t, ns, "delete", "bar")
	all.becomes("bar is off the screen", func(text string) bool { return !strings.Contains(text, "/bar") && strings.Contains(text, "/foo") })

	// What is not ready alone, also of what comes later.
	one := startScreen(t, 100, 30, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "foo", "-n", ns, "-w", "--not-ready")
	one.shows("✖ ImoocPod/foo in " + ns + ": failed")
	selected := startScreen(t, 100, 30, nil, cluster.Bin+"/kubectl", "imoocpod", "status", "imoocpods", "-l", "!nothing", "-n", ns, "-w", "--not-ready")
	selected.shows("✖ ImoocPod/foo in " + ns + ": failed")
	imoocpod(t, ns, "create", "late", "--replicas", "1")
	selected.shows("✖ ImoocPod/late in " + ns + ": failed")

	// Of what never was there is nothing to see.
	none := wait(100, 30, nil, "none -w")
	none.shows("after 6")
	if text := none.text(); strings.Contains(text, "deleted") || !strings.Contains(text, `"none" not found`) {
		t.Errorf("of what is not there it shows\n%s", text)
	}

	// Where nothing can be drawn, there is a line for every change.
	dumb := wait(100, 30, []string{"TERM=dumb"}, "foo --wait --fail-after 1s")
	dumb.shows("after 3")
	if strings.Contains(dumb.written(), "\x1b") {
		t.Errorf("escape sequences for a terminal that has none: %q", dumb.written())
	}

	// And where there is no terminal, one for what came of it, or a document for
	// every change.
	imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	if out, want := imoocpod(t, ns, "status", "foo", "--wait"), "imoocpod.batch.tutorial.kubebuilder.io/foo: ready: 2 of 2 pods are ready\n"; out != want {
		t.Errorf("--wait printed %q, want %q", out, want)
	}
	one.shows("✔ all 1 objects are ready")
	selected.becomes("foo is off the screen", func(text string) bool { return !strings.Contains(text, "/foo") && strings.Contains(text, "/late") })
	var last status.Report
	documents := json.NewDecoder(strings.NewReader(imoocpod(t, ns, "status", "foo", "--wait", "-o", "json")))
	for documents.More() {
		if err := documents.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	if last.Verdict != status.Ready || last.Metadata.Name != "foo" {
		t.Errorf("the last document says %+v", last)
	}
}

// Ctrl-Z gives the terminal back until the screen is wanted again.
func TestLiveScreenIsSuspended(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "3")
	s := startScreen(t, 80, 24, []string{"PS1=ready> "}, "bash", "--noprofile", "--norc", "-i")
	s.shows("ready>")
	s.press("kubectl imoocpod status foo -n " + ns + " -w\r")
	s.shows("? ImoocPod/foo in " + ns + ": not reconciled")
	s.press("\x1a")
	s.shows("Stopped")
	if text := s.text(); s.drawn() || !strings.HasPrefix(text, "ready> kubectl") || strings.Contains(text, "not reconciled") {
		t.Errorf("suspended, it leaves\n%s", text)
	}
	s.press("fg\r")
	s.becomes("the screen is drawn again", func(text string) bool {
		return s.drawn() && strings.HasPrefix(text, "? ImoocPod/foo in "+ns+": not reconciled")
	})
	s.press("\x03")
	s.becomes("it has ended", func(text string) bool { return !s.drawn() && strings.HasSuffix(text, "ready>") })
	s.press("echo $?; stty -a\r")
	s.shows(" echo ")
	s.shows("130\n")
	s.press("exit\r")
	s.ends()
}

// Ctrl-C gives the terminal back at once, also where the program cannot end yet:
// something that it called does not listen. A second one does not wait for that.
func TestLiveScreenIsInterruptedTwice(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "3")
	must(t, kubectl(t, ns, "create", "serviceaccount", "looker"))
	must(t, kubectl(t, ns, "create", "rolebinding", "looker", "--clusterrole=cluster-admin", "--serviceaccount="+ns+":looker"))
	token := strings.TrimSpace(must(t, kubectl(t, ns, "create", "token", "looker")))
	dir := t.TempDir()
	plugin := filepath.Join(dir, "login")
	// A login that is asked before each request, as what it gives has expired.
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
	kubeconfig := writeFile(t, readFile(t, cluster.Kubeconfig))
	withLogin := []string{"KUBECONFIG=" + kubeconfig}
	must(t, kubectlWith(t, withLogin, "", "config", "set-credentials", "login", "--exec-command="+plugin, "--exec-api-version=client.authentication.k8s.io/v1", "--exec-interactive-mode=Never"))
	must(t, kubectlWith(t, withLogin, "", "config", "set-context", "--current", "--user=login"))

	s := startScreen(t, 80, 24, withLogin, "bash", "-c", "kubectl imoocpod status foo -n "+ns+" -w; echo after $?")
	before, err := term.SaveState(s.tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	s.shows("? ImoocPod/foo in " + ns + ": not reconciled")
	if err := os.WriteFile(filepath.Join(dir, "deaf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	imoocpod(t, ns, "scale", "foo", "--replicas", "4")
	eventually(t, "the login is asked", func() bool {
		_, err := os.Stat(filepath.Join(dir, "called"))
		return err == nil
	})
	s.press("\x03")
	s.becomes("the last frame is left", func(text string) bool {
		return !s.drawn() && strings.Contains(text, "? ImoocPod/foo in "+ns+": not reconciled")
	})
	s.asItWas(before)
	if strings.Contains(s.text(), "after") {
		t.Error("it has ended at once, so this test shows nothing")
	}
	s.press("\x03")
	s.shows("after 130")
	s.asItWas(before)
}
