package kube

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// A command that has sent no request prints once that it is waiting for the credential plugin.
func TestAnnouncePlugin(t *testing.T) {
	t.Parallel()
	for want, used := range map[string]bool{"waiting for the credential plugin login\\x1b[2J\n": false, "": true} {
		bubble.Test(t, func(t *testing.T) {
			var out strings.Builder
			f := New("v1", genericiooptions.IOStreams{ErrOut: &out})
			f.announcePlugin(&rest.Config{})
			for range 2 {
				f.announcePlugin(&rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "login\x1b[2J"}})
			}
			f.connection.used.Store(used)
			<-time.After(2 * pluginDelay)
			synctest.Wait()
			if out.String() != want {
				t.Errorf("printed %q, want %q", out.String(), want)
			}
		})
	}
}
