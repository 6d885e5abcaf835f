package cmd

import (
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// commonOptions is what verbs share: a way to the server, the streams, and the version of
// this program.
type commonOptions struct {
	clients *kube.Factory
	streams genericiooptions.IOStreams
	version string
}

// validate is that of verbs for which no combination of flags is wrong.
func (o *commonOptions) validate() error { return nil }

// tell writes a line to standard error. What was changed is changed, whether or not anyone
// can read about it.
func (o *commonOptions) tell(format string, args ...any) {
	_ = escape.PrintLine(o.streams.ErrOut, format, args...)
}
