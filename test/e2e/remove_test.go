package e2e

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// Removing a pod of a Deployment gives the ReplicaSet controller a hint about which pod to delete.
func TestRemovePodOfADeployment(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 3, ""))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	web := cluster.Owner(t, ns, kinds.Kind{}, "web")
	pods := web.LivePods()
	victim, others := pods[1], []types.UID{pods[0].UID, pods[2].UID}
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--remove", victim.Name, "--timeout", "5m")
	want := "deployment/web: 3 → 2, removing " + victim.Name + " if possible: the ReplicaSet controller deletes pods that are not ready first\n"
	if harness.Must(t, r); !strings.Contains(r.Stderr, want) {
		t.Errorf("%s: stderr %q, want %q", r.Line, r.Stderr, want)
	}
	harness.Eventually(t, "only the other pods are left", func() bool {
		return slices.Equal(uidsOf(web.LivePods()), others)
	})
}
