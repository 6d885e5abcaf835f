package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"

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

// asItWas checks that nothing of what a program did to the terminal has stayed.
func (s *screen) asItWas(before *term.State) {
	s.t.Helper()
	if after, err := term.GetState(int(s.tty.Fd())); err != nil || *after != *before {
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
	before, err := term.GetState(int(s.tty.Fd()))
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

	for _, size := range [][2]int{{40, 6}, {200, 50}, {30, 7}, {80, 24}} {
		s.resize(size[0], size[1])
		s.becomes("the screen fits", func(text string) bool {
			return strings.HasPrefix(text, "✔ ImoocPod/foo in ") && strings.Contains(text, "12/12 ready") && strings.Contains(text, "└─ ✔ 12 ready") &&
				strings.Contains(text, "NoFailure  no create was refused") == (size[0] >= 80)
		})
	}
	s.press("\x03")
	if code := s.ends(); code != 130 {
		t.Errorf("Ctrl-C ended it with %d", code)
	}
	if text := s.text(); strings.Count(text, "✔ ImoocPod/foo in "+ns+": ready") != 1 || !strings.Contains(text, "└─ ✔ 12 ready") {
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
