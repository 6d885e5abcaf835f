package clusterwide

import "testing"

// A controller that starts before its CRD exists prints what to do, and continues when the CRD is
// installed. It also continues after the CRD was deleted and installed again.
func TestLoopFollowsTheCRD(t *testing.T) {
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects") // remove the objects of earlier tests
	p := cluster.StartRunController(t, ns)
	p.AwaitOutput(`not installed: run "kubectl imoocpod install"`)
	cluster.Imoocpod(t, "", "install")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "foo", 2)
	cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects")
	w.Until(t, "the pods are gone", func() bool { return len(w.Pods) == 0 })
	cluster.Imoocpod(t, "", "install")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "bar", 2)
}
