package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// Removing a pod of a Deployment gives the ReplicaSet controller a hint about which pod to delete.
func TestRemovePodOfADeployment(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 3, ""))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	list, err := cluster.Core.Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := podUIDs(t, ns)
	victim := list.Items[1]
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--remove", victim.Name, "--timeout", "5m")
	says := "deployment/web: 3 → 2, removing " + victim.Name + " if possible: the ReplicaSet controller deletes pods that are not ready first\n"
	if harness.Must(t, r); !strings.Contains(r.Stderr, says) {
		t.Errorf("%s said %q, want %q", r.Line, r.Stderr, says)
	}
	delete(before, victim.UID)
	harness.Eventually(t, "the pod is gone", func() bool { return !podUIDs(t, ns)[victim.UID] })
	if after := podUIDs(t, ns); len(after) != 2 {
		t.Errorf("%d pods are left", len(after))
	} else {
		for uid := range after {
			if !before[uid] {
				t.Error("another pod was deleted, too")
			}
		}
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--by", "+1", "--reuse")
	if r.Code != harness.ExitError || r.Stderr != "error: deployment/web has no removed slots: only kinds whose pods run-controller creates have slots\n" {
		t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
	}
}
