package clusterwide

import "testing"

// A loop that starts before its CRD says what to do and goes on when it is
// there; one whose CRD goes away and comes back goes on too.
func TestLoopFollowsTheCRD(t *testing.T) {
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects") // of tests before this one
	l := cluster.StartRunController(t, ns)
	l.AwaitOutput(`not installed: run "kubectl imoocpod install"`)
	cluster.Imoocpod(t, "", "install")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "foo", 2)
	cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects")
	w.Until(t, "the pods are gone", func() bool { return len(w.Pods) == 0 })
	cluster.Imoocpod(t, "", "install")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "bar", 2)
}
