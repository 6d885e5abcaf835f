package kube

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

func TestCommandContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no flags":                  {nil, "kubectl imoocpod check -n n"},
		"context and kubeconfig":    {[]string{"--context=staging west", "--kubeconfig=/k"}, "kubectl imoocpod check -n n --kubeconfig=/k '--context=staging west'"},
		"impersonation":             {[]string{"--as=alice", "--as-group=a", "--as-group=b"}, "kubectl imoocpod check -n n --as=alice --as-group=a --as-group=b"},
		"a Boolean flag":            {[]string{"--insecure-skip-tls-verify"}, "kubectl imoocpod check -n n --insecure-skip-tls-verify=true"},
		"a token is left out":       {[]string{"--token=s3cret", "--user=u"}, "kubectl imoocpod check -n n --user=u"},
		"the namespace is left out": {[]string{"--namespace=other"}, "kubectl imoocpod check -n n"},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f := New("v0", genericiooptions.NewTestIOStreamsDiscard())
		f.AddFlags(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if got := f.CommandContext().Line(commandline.Plugin("check").In("n")); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		if strings.Contains(f.ClusterContext().Line(commandline.Plugin("check")), "--as") {
			t.Errorf("%s: ClusterContext has an impersonation flag", name)
		}
	}
}
