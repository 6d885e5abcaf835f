package cmd

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// pasted holds the flags that the options from onStaging add to suggested commands.
const pasted = " --context=staging --as=alice"

// onStaging returns the options of a command with flags for another context and user, and the
// buffer that receives the standard error of the command.
func onStaging(t *testing.T) (commonOptions, *bytes.Buffer) {
	t.Helper()
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	c := kube.New("v0", streams)
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.AddFlags(flags)
	if err := flags.Parse([]string{"--context=staging", "--as=alice"}); err != nil {
		t.Fatal(err)
	}
	return commonOptions{clients: c, streams: streams}, errOut
}
