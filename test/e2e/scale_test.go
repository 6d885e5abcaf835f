package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The verb scale lists the changes of several objects, and asks for confirmation before it scales
// several objects to zero.
func TestScaleAsks(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1")
	const both = "NAME           BEFORE   AFTER\nimoocpod/foo   2        0\nimoocpod/bar   1        0\n"
	args := []string{"scale", "imoocpod/foo", "imoocpod/bar", "--replicas", "0", "-n", ns}
	s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", args...)
	s.AwaitText("This scales 2 objects to zero. Do you want to continue? (y/N):")
	s.Press("no\r")
	if code := s.Wait(); code != 0 || *cluster.ImoocPod(t, ns, "foo").Spec.Replicas != 2 {
		t.Errorf("after the answer no: exit code %d, want 0, and foo with 2 replicas", code)
	}
	// The verb asks no question if it scales one object, if it scales no object to zero, or with --yes.
	for _, args := range []string{"imoocpod/foo --replicas 0", "imoocpod/foo imoocpod/bar --replicas 2", "imoocpod/foo imoocpod/bar --replicas 0 --yes"} {
		s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", append([]string{"scale", "-n", ns}, harness.Words(args)...)...)
		if code := s.Wait(); code != 0 || strings.Contains(s.Written(), "continue") {
			t.Errorf("scale %s: exit code %d, output %q, want no question", args, code, s.Written())
		}
	}
	cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Scale(2)
	cluster.Owner(t, ns, kinds.ImoocPod(), "bar").Scale(1)
	r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, both) || *cluster.ImoocPod(t, ns, "bar").Spec.Replicas != 0 {
		t.Errorf("scale without a terminal: stderr %q, want it to begin with %q, and bar with no replicas", r.Stderr, both)
	}
}
