package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A controller whose token has expired continues when its token file contains a new token, which in
// a cluster the kubelet writes. A token expires when the secret to which it is bound is deleted.
func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	harness.Must(t, cluster.Kubectl(t, ns, "create", "serviceaccount", "loop"))
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "loop", "--clusterrole=cluster-admin", "--serviceaccount="+ns+":loop"))
	token := func(secret string) string {
		harness.Must(t, cluster.Kubectl(t, ns, "create", "secret", "generic", secret))
		return strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, ns, "create", "token", "loop", "--bound-object-kind=Secret", "--bound-object-name="+secret)))
	}
	old, renewed := token("old"), token("renewed")
	tokenFile := harness.WriteFile(t, old)
	kubeconfig, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	user := kubeconfig.Contexts[kubeconfig.CurrentContext].AuthInfo
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	data, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	d.Create(1)
	l := cluster.StartRunController(t, ns, "--kubeconfig", harness.WriteFile(t, string(data)))
	w.AwaitConverged(t, "foo", 1)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "secret", "old"))
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = old
	withOld, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the old token has expired", func() bool {
		_, err := withOld.Pods(ns).List(t.Context(), metav1.ListOptions{Limit: 1})
		return apierrors.IsUnauthorized(err)
	})
	d.Scale(2)
	l.AwaitOutput("Unauthorized; trying again")
	if err := os.WriteFile(tokenFile, []byte(renewed), 0o600); err != nil {
		t.Fatal(err)
	}
	w.AwaitConverged(t, "foo", 2)
}
