package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The HelloWorld of a cluster whose CRD is the tutorial's own: it has no /scale
// and no default, wants nodes in every status, and has a place for nothing else
// there. It changes a CRD, which concerns everybody, so the test is not parallel.
func TestHelloWorldOfTheTutorial(t *testing.T) {
	ns := newNamespace(t)
	must(t, kubectl(t, "", "delete", "crd", "helloworlds.test.jiaozi.com"))
	must(t, kubectl(t, "", "apply", "-f", "testdata/tutorial/helloworlds.yaml"))
	must(t, kubectl(t, "", "wait", "--for=condition=Established", "crd/helloworlds.test.jiaozi.com"))
	defer func() {
		must(t, kubectl(t, "", "delete", "-f", "testdata/tutorial/helloworlds.yaml"))
		imoocpod(t, "", "install")
	}()
	startLoop(t, ns)
	hello := &owner{t: t, kind: kinds.HelloWorld(), namespace: ns, name: "hello"}
	imoocpod(t, ns, "create", "helloworld/hello", "--replicas", "2")
	has := func(n int) {
		t.Helper()
		eventually(t, "the HelloWorld has its pods and tells their names", func() bool {
			nodes, found, err := unstructured.NestedStringSlice(hello.get().Object, "status", "nodes")
			return len(hello.livePods()) == n && err == nil && found && len(nodes) == n
		})
	}
	has(2)
	imoocpod(t, ns, "scale", "helloworld/hello", "--replicas", "3")
	has(3)
	imoocpod(t, ns, "scale", "helloworld/hello", "--current-replicas", "3", "--by", "-2")
	has(1)
	imoocpod(t, ns, "scale", "helloworld/hello", "--replicas", "0")
	has(0)
	if r := kubectl(t, ns, "imoocpod", "scale", "helloworld/no", "--replicas", "1"); r.code != exitNotFound {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	imoocpod(t, ns, "delete", "helloworld/hello")
}
