package clusterwide

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The program works with the HelloWorld CRD of the tutorial, which has no /scale, no default, and a
// status with a single required field, nodes.
func TestHelloWorldOfTheTutorial(t *testing.T) {
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, "", "delete", "crd", "helloworlds.test.jiaozi.com"))
	harness.Must(t, cluster.Kubectl(t, "", "apply", "-f", "testdata/tutorial/helloworlds.yaml"))
	cluster.AwaitEstablished(t, "crd/helloworlds.test.jiaozi.com")
	defer func() {
		harness.Must(t, cluster.Kubectl(t, "", "delete", "-f", "testdata/tutorial/helloworlds.yaml"))
		cluster.Imoocpod(t, "", "install")
	}()
	cluster.StartRunController(t, ns)
	hello := cluster.Owner(t, ns, kinds.HelloWorld(), "hello")
	cluster.Imoocpod(t, ns, "create", "helloworld/hello", "--replicas", "2")
	has := func(n int) {
		t.Helper()
		harness.Eventually(t, "the HelloWorld has its pods and lists their names", func() bool {
			nodes, found, err := unstructured.NestedStringSlice(hello.Get().Object, "status", "nodes")
			return len(hello.LivePods()) == n && err == nil && found && len(nodes) == n
		})
	}
	has(2)
	cluster.Imoocpod(t, ns, "scale", "helloworld/hello", "--replicas", "3")
	has(3)
	cluster.Imoocpod(t, ns, "scale", "helloworld/hello", "--current-replicas", "3", "--by", "-2")
	has(1)
	cluster.Imoocpod(t, ns, "scale", "helloworld/hello", "--replicas", "0")
	has(0)
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "helloworld/no", "--replicas", "1"); r.Code != harness.ExitNotFound {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "delete", "helloworld/hello")
}
