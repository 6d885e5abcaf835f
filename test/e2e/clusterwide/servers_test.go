package clusterwide

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// When etcd or the API server is killed and restarted, the controller catches up. It reports an API server outage.
func TestServerGoesAwayAndComesBack(t *testing.T) {
	// Create both namespaces first: after an outage, the controller manager needs time to set up a new namespace.
	namespace := map[string]string{"kube-apiserver": cluster.NewNamespace(t), "etcd": cluster.NewNamespace(t)}
	for _, component := range []string{"kube-apiserver", "etcd"} {
		t.Run(component, func(t *testing.T) {
			ns := namespace[component]
			p := cluster.StartRunController(t, ns)
			cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "5")
			cluster.AwaitConverged(t, ns, "foo", 5)
			foo := cluster.ImoocPod(t, ns, "foo")
			cluster.Tell(t, "kill "+component)
			if component == "kube-apiserver" {
				p.AwaitOutput("trying again")
				// The outage is so long that another controller could acquire the lease.
				p.AwaitOutput("could not renew the lease in time; stopped reconciling, waiting for the lease")
			}
			cluster.Tell(t, "start "+component)
			harness.Eventually(t, "the server accepts writes again", func() bool {
				return cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "8").Code == 0
			})
			cluster.AwaitConverged(t, ns, "foo", 8)
			if made := len(cluster.PodsOf(t, ns, foo.UID)); made != 8 {
				t.Errorf("foo has %d pods, want 8", made)
			}
			if code := p.Stop(); code != 0 {
				t.Errorf("exit code of run-controller after SIGINT = %d, want 0", code)
			}
			logged := map[string]int{}
			for line := range strings.Lines(p.Output()) {
				if what, _, found := strings.Cut(line, ":"); found && strings.HasPrefix(line, "cannot ") {
					logged[what]++
				}
			}
			for what, times := range logged {
				if component == "kube-apiserver" && times > 1 {
					t.Errorf("%q was logged %d times, want once:\n%s", what, times, p.Output())
				}
			}
		})
	}
}
