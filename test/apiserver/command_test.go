package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// command runs a command of the program in this process. connect selects the server.
func command(ctx context.Context, connect func(*genericclioptions.ConfigFlags), line string, out, errOut io.Writer) error {
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut}
	f := kube.New("v1", streams)
	connect(f.Flags)
	root := cmd.NewRootCommandFor(f, "v1", streams) //nolint:contextcheck // ExecuteContext passes the context
	root.SetArgs(strings.Fields(line))
	return root.ExecuteContext(ctx)
}

func run(t *testing.T, s *apiserver.Server, line string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	err = command(t.Context(), s.Connect, line, &out, &errOut)
	return out.String(), errOut.String(), err
}

// cluster returns a server with simulated controllers that have had a minute to reconcile the given objects.
func cluster(t *testing.T, manifests ...string) *apiserver.Server {
	t.Helper()
	s := apiserver.New(t)
	play.Cluster(s)
	for _, manifest := range manifests {
		s.CreateYAML(manifest)
	}
	<-time.After(time.Minute)
	synctest.Wait()
	return s
}

func deployment(name, image string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: app, image: %[2]q}]}`, name, image, replicas)
}

// full is a writer whose disk is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullDisk checks that commands fail if their output cannot be written. Most commands that change an object still
// report the change on standard error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := cluster(t, deployment("web", "example.com/web:1", 3))
		for _, test := range []struct{ line, says string }{
			{"status", ""}, {"status deployment/web", ""}, {"status deployment/web -o json", ""}, {"describe deployment/web", ""},
			{"history deployment/web", ""}, {"kinds", ""}, {"version", ""}, {"check", ""}, {"kinds new Foo --group example.com", ""},
			{"wait deployment/web", ""}, {"wait deployment/web -o json", ""}, {"set env deployment/web --list", ""},
			{"scale deployment/web --replicas 4", "3 → 4"}, {"scale deployment/web --replicas 3 -o name", "4 → 3"},
			{"set image deployment/web example.com/web:2", "web:1 → example.com/web:2"}, {"undo deployment/web", "web:2 → example.com/web:1"},
			{"restart deployment/web", ""}, {"park deployment/web", "3 → 0"}, {"unpark deployment/web", "0 → 3"},
			{"pause deployment/web --for forever", "setting .spec.paused to true"}, {"delete deployment/web", ""},
		} {
			var stderr bytes.Buffer
			err := command(t.Context(), s.Connect, test.line, full{}, &stderr)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("%s: got error %v, stderr %q, want ENOSPC and %q", test.line, err, &stderr, test.says)
			}
		}
	})
}
