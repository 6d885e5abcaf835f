package kube

import (
	"github.com/spf13/pflag"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// CommandContext returns the flags of this command that choose a cluster or a user, except tokens and passwords.
func (f *Factory) CommandContext() commandline.Context { return CommandContext(f.flags) }

// ClusterContext returns only the flags that choose a cluster. Commands that grant permissions omit the user flags,
// because --user of "kubectl create rolebinding" is the user to bind.
func (f *Factory) ClusterContext() commandline.Context { return given(f.flags, clusterFlags()...) }

// CommandContext returns the parsed global flags that choose a cluster or a user, except tokens and passwords.
func CommandContext(flags *pflag.FlagSet) commandline.Context {
	return given(flags, append(clusterFlags(),
		"user", "client-certificate", "client-key", "as", "as-uid", "as-group", "as-user-extra")...)
}

func clusterFlags() []string {
	return []string{"kubeconfig", "context", "cluster", "server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority"}
}

func given(flags *pflag.FlagSet, names ...string) commandline.Context {
	var words commandline.Context
	for _, name := range names {
		flag := flags.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, is := flag.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+name+"="+value)
		}
	}
	return words
}
