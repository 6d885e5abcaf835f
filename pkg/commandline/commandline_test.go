package commandline

import "testing"

func TestLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		context Context
		cmd     Command
		want    string
	}{
		"plugin":    {nil, Plugin("scale", "foo", "--replicas", "3"), "kubectl imoocpod scale foo --replicas 3"},
		"namespace": {nil, Plugin("wait", "foo").In("team-a"), "kubectl imoocpod wait foo -n team-a"},
		"kubectl":   {nil, Kubectl("delete", "pod", "db-2").In("team-a"), "kubectl delete pod db-2 -n team-a"},
		"quoting":   {nil, Plugin("scale", "foo", "--replicas-path", `.spec.sets[?(@.name=="it's")].n`), `kubectl imoocpod scale foo --replicas-path '.spec.sets[?(@.name=="it'\''s")].n'`},
		"context":   {Context{"--kubeconfig", "/k c", "--context", "staging"}, Plugin("check").In("n"), "kubectl imoocpod check -n n --kubeconfig '/k c' --context staging"},
		"arguments": {Context{"--context", "staging"}, Kubectl("create", "deployment", "web").In("n").With("--", "sleep", "5"), "kubectl create deployment web -n n --context staging -- sleep 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.context.Line(test.cmd); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
