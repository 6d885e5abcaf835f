package e2e

import (
	"fmt"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A wait lists the objects below its target once and then watches, however many pods are
// created. In addition, scale lists once before the change to find obstacles, and a wait
// for a foreign kind lists once at the end.
func TestWaitReadsOnceAndFollows(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0", "--wait")
	for _, name := range []string{"web", "other"} {
		cluster.Apply(t, ns, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: 0, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: web}]}}}}`, name))
	}
	cluster.Imoocpod(t, ns, "scale", "deployment/other", "--replicas", "10", "--timeout", "5m")
	for _, test := range []struct {
		target, user string
		lists        int
	}{{"deployment/web", "follows-a-deployment", 3}, {"imoocpod/foo", "follows-an-imoocpod", 2}} {
		cluster.Imoocpod(t, ns, "scale", test.target, "--replicas", "40", "--timeout", "5m", "--as", test.user, "--as-group", "system:masters")
		count := map[string]int{}
		for _, r := range cluster.Requests(t, ns, func(r harness.Request) bool {
			return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == test.user
		}) {
			count[r.Verb+" "+r.Resource()]++
		}
		// A busy server may end a watch, which is then restarted.
		if count["list pods"] > test.lists || count["watch pods"] > 2 || count["list events"] > 1 || count["list replicasets"] > test.lists {
			t.Errorf("to follow %s took the requests %v", test.target, count)
		}
	}
}
