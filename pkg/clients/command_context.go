package clients

import (
	"github.com/spf13/pflag"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// CommandContext returns the flags of this command that choose a cluster or a user. Tokens
// and passwords are secrets and are not among them.
func (c *Factory) CommandContext() commandline.Context {
	var words commandline.Context
	for _, name := range []string{
		"kubeconfig", "context", "cluster", "user", "server", "tls-server-name", "insecure-skip-tls-verify",
		"certificate-authority", "client-certificate", "client-key", "as", "as-uid", "as-group", "as-user-extra",
	} {
		flag := c.flags.Lookup(name)
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
