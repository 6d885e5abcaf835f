package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// Within seconds after a connection breaks, the screen shows that the connection is lost and that
// the state might be out of date. The screen recovers by itself.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2", "--wait")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1", "--wait")
	link := cluster.NewLink(t)
	env := []string{"KUBECONFIG=" + link.Kubeconfig}
	start := func(args string) func(string, bool) {
		s := cluster.StartTerminal(t, 80, 24, env, cluster.Bin+"/kubectl", strings.Fields("imoocpod "+args+" -n "+ns)...)
		return func(text string, is bool) {
			t.Helper()
			s.AwaitScreen(map[bool]string{true: "shown: ", false: "not shown: "}[is]+text, func(screen string) bool { return strings.Contains(screen, text) == is })
		}
	}
	one, all := start("status foo -w"), start("status -w")
	waits := start("wait foo --for=jsonpath={.status.none}=1 --timeout=1h")
	one("✔ imoocpod/foo in "+ns+": ready", true)
	all("imoocpod/bar", true)
	waits("imoocpod/foo: ready", true)
	const lost = "connection lost "
	for _, trouble := range []struct{ begin, end func() }{{link.Cut, link.Restore}, {link.Stall, link.Flow}} {
		trouble.begin()
		one(lost, true)
		one("reconnecting; last known state:", true)
		one("imoocpod/foo in "+ns+": ready", true)
		all(lost, true)
		waits(lost, true)
		trouble.end()
		one(lost, false)
		all(lost, false)
		waits(lost, false)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3")
	one("3/3 ready", true)

	// Without a terminal, the command prints lines about the connection instead.
	piped := cluster.StartPlugin(t, "status", "foo", "-n", ns, "-w", "--kubeconfig", link.Kubeconfig)
	piped.AwaitOutput("foo")
	link.Cut()
	piped.AwaitOutput("connection to the server lost, reconnecting")
	link.Restore()
	piped.AwaitOutput("connected to the server again")
}

// On a terminal, a wait shows its progress, and at the end leaves only its result.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	s := cluster.StartTerminal(t, 80, 24, nil, "bash", "-c",
		"kubectl imoocpod create web --replicas 3 --wait -n "+ns+"; echo after $?; kubectl imoocpod wait web -n "+ns+"; echo then $?")
	// Without a controller, the screen shows the reason, the elapsed time, and a hint.
	clock := regexp.MustCompile(`(?m)^\d+s +imoocpod/web: not reconciled: no controller has seen it yet$`)
	s.AwaitScreen("the screen shows the reason and the elapsed time", clock.MatchString)
	s.AwaitText("\nhint: kubectl imoocpod run-controller -n " + ns)
	s.Resize(40, 12)
	s.AwaitScreen("the progress fits a narrow terminal", func(text string) bool {
		return regexp.MustCompile(`(?m)^\d+s +imoocpod/web: not reconciled: .*…$`).MatchString(text) && strings.Count(text, "hint: ") == 1
	})
	s.Resize(80, 24)
	s.AwaitScreen("the progress fits the wide terminal again", func(text string) bool {
		return clock.MatchString(text) && strings.Count(text, "not reconciled") == 1 && strings.Count(text, "hint: ") == 1
	})
	cluster.StartRunController(t, ns)
	s.AwaitText("\nafter 0\n")
	s.AwaitText("\nthen 0")
	text := s.Text()
	for _, want := range []string{
		`(?m)^imoocpod\.\S+\nimoocpod/web: ready: 3 of 3 pods ready, took \d+\w*\nafter 0$`,
		`(?m)^imoocpod\.\S+ condition met\nimoocpod/web: ready: 3 of 3 pods ready, took \d+\w*\nthen 0$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("last screen:\n%s\nwant a match for %s", text, want)
		}
	}
}
