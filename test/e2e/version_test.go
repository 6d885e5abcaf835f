package e2e

import (
	"encoding/json"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/version"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	matches(t, "version", cluster.Imoocpod(t, "", "version"), `Client Version: v[^\n]+\nServer Version: v1\.\d+\.\d+[^\n]*\n`)
	var v struct {
		ClientVersion string
		ServerVersion version.Info
	}
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, "", "version", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.ClientVersion == "" || v.ServerVersion.Major != "1" || v.ServerVersion.GitVersion == "" {
		t.Errorf("-o json printed %+v", v)
	}
	matches(t, "version -o yaml", cluster.Imoocpod(t, "", "version", "-o", "yaml"), `clientVersion: v[^\n]+\nserverVersion:\n(?s:.*)`)
	// The client version is printed without a server.
	nowhere := []string{"KUBECONFIG=" + t.TempDir() + "/none"}
	matches(t, "version --client", harness.Must(t, cluster.KubectlWith(t, nowhere, "", "imoocpod", "version", "--client")), `Client Version: v[^\n]+\n`)
	matches(t, "version --client -o json", harness.Must(t, cluster.KubectlWith(t, nowhere, "", "imoocpod", "version", "--client", "-o", "json")), `\{\n  "clientVersion": "v[^\n]+"\n\}\n`)
}
