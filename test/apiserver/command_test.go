package apiserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// run runs a command of the program in this process, against the server s.
func run(t *testing.T, s *apiserver.Server, line string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	c := kube.New("v1", streams)
	s.Connect(c.Flags)
	root := cmd.NewRootCommandFor(c, "v1", streams)
	root.SetArgs(strings.Fields(line))
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// deployment returns the manifest of a Deployment, as a user would write it.
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

// TestCommands runs commands of the program against a server with simulated
// controllers.
func TestCommands(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(deployment("web", "example.com/old:1", 3))
		<-time.After(time.Minute)
		synctest.Wait()
		for _, test := range []struct{ line, says string }{
			{"status deployment/web", "web"},
			{"set image deployment/web app=example.com/new:1 --timeout 1m", "web"},
			{"scale deployment/web --replicas 4 --timeout 1m", "web"},
			{"history deployment/web", "example.com/new:1"},
		} {
			stdout, stderr, err := run(t, s, test.line)
			if err != nil || !strings.Contains(stdout, test.says) {
				t.Errorf("%s: got error %v, stdout %q, stderr %q", test.line, err, stdout, stderr)
			}
		}
		d := s.Get("deployments", "default", "web")
		ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
		if pods := s.List("pods", "default"); ready != 4 || len(pods) != 4 {
			t.Errorf("%d of %d pods are ready, want 4", ready, len(pods))
		}
		for _, pod := range s.List("pods", "default") {
			containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
			container, _ := containers[0].(map[string]any)
			if image := container["image"]; image != "example.com/new:1" {
				t.Errorf("%s runs %v", pod.GetName(), image)
			}
		}
	})
}

// full is a writer whose disk is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullDisk checks that commands fail if their output cannot be written. Those that have
// changed an object still report the change on standard error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(deployment("web", "example.com/web:1", 3))
		<-time.After(time.Minute)
		synctest.Wait()
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
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: full{}, ErrOut: &stderr}
			c := kube.New("v1", streams)
			s.Connect(c.Flags)
			root := cmd.NewRootCommandFor(c, "v1", streams)
			root.SetArgs(strings.Fields(test.line))
			if err := root.ExecuteContext(t.Context()); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("%s: got error %v, stderr %q, want %q", test.line, err, &stderr, test.says)
			}
		}
	})
}

// TestKindsOnASlowServer checks that the verb kinds reports its progress if the server is slow.
func TestKindsOnASlowServer(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		s.CreateYAML(widgets)
		s.Fail(apiserver.Path("/openapi/"), apiserver.Fault{Delay: 5 * time.Second})
		if stdout, stderr, err := run(t, s, "kinds"); err != nil || !strings.Contains(stdout, "Widget") || !strings.Contains(stderr, "types from the server") {
			t.Errorf("%v, stdout %q, stderr %q", err, stdout, stderr)
		}
	})
}

// TestScaleBeyondABound checks that scale warns of a count beyond a bound in another field of the
// object, such as maxReplicas.
func TestScaleBeyondABound(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	s.CreateYAML(strings.Replace(widgets, "replicas: {type: integer}", "replicas: {type: integer}, maxReplicas: {type: integer}", 1))
	s.CreateYAML(strings.Replace(workloads()[3].manifest, "replicas: 3", "replicas: 3, maxReplicas: 5", 1))
	for count, warns := range map[string]bool{"5": false, "9": true} {
		_, stderr, err := run(t, s, "scale widget/web --replicas "+count)
		if got := strings.Contains(stderr, "Warning: widget/web: its controller may not use a count of 9: .spec.maxReplicas is 5"); err != nil || got != warns {
			t.Errorf("%s: %v, it printed %q", count, err, stderr)
		}
	}
}
