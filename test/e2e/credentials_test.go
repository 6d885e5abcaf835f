package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A controller whose token is no longer valid continues when its token file contains a new token. A
// token becomes invalid when the Secret to which it is bound is deleted.
func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.WatchPods(t, ns)
	harness.Must(t, cluster.Kubectl(t, ns, "create", "serviceaccount", "loop"))
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "loop", "--clusterrole=cluster-admin", "--serviceaccount="+ns+":loop"))
	token := func(secret string) string {
		harness.Must(t, cluster.Kubectl(t, ns, "create", "secret", "generic", secret))
		return strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, ns, "create", "token", "loop", "--bound-object-kind=Secret", "--bound-object-name="+secret)))
	}
	old, renewed := token("old"), token("renewed")
	tokenFile := harness.WriteFile(t, old)
	kubeconfig := cluster.KubeconfigWith(t, func(_ *clientcmdapi.Context, _ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		*user = clientcmdapi.AuthInfo{TokenFile: tokenFile}
	})
	cluster.Imoocpod(t, ns, "create", "foo")
	p := cluster.StartRunController(t, ns, "--kubeconfig", kubeconfig)
	cluster.AwaitConverged(t, ns, "foo", 1)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "secret", "old"))
	harness.Eventually(t, "the old token has expired", func() bool {
		r := cluster.Kubectl(t, ns, "get", "pods", "--kubeconfig", kubeconfig)
		return r.Code != 0 && strings.Contains(r.Stderr, "Unauthorized")
	})
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	p.AwaitOutput("Unauthorized; trying again")
	if err := os.WriteFile(tokenFile, []byte(renewed), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitConverged(t, ns, "foo", 2)
}
