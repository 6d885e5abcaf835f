package kube

import (
	"time"

	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// pluginDelay is the time without a request after which a command prints that it waits for the credential plugin.
const pluginDelay = 5 * time.Second

// announcePlugin prints the name of the credential plugin in config if the plugin delays the first
// request. client-go waits for a plugin without a timeout, because the user might need to log in.
func (f *Factory) announcePlugin(config *rest.Config) {
	if config.ExecProvider == nil {
		return
	}
	f.announced.Do(func() {
		time.AfterFunc(pluginDelay, func() {
			if !f.connection.used.Load() {
				_ = escape.PrintLine(f.errOut, "waiting for the credential plugin %s", config.ExecProvider.Command)
			}
		})
	})
}
