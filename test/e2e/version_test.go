package e2e

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	matches(t, "version", imoocpod(t, "", "version"), `Client Version: v[^\n]+\nServer Version: v1\.\d+\.\d+[^\n]*\n`)
	var v struct {
		ClientVersion string
		ServerVersion version.Info
	}
	if err := json.Unmarshal([]byte(imoocpod(t, "", "version", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.ClientVersion == "" || v.ServerVersion.Major != "1" || v.ServerVersion.GitVersion == "" {
		t.Errorf("-o json printed %+v", v)
	}
	matches(t, "version -o yaml", imoocpod(t, "", "version", "-o", "yaml"), `clientVersion: v[^\n]+\nserverVersion:\n(?s:.*)`)
	// The plugin's own is told where there is no server.
	nowhere := []string{"KUBECONFIG=" + t.TempDir() + "/none"}
	matches(t, "version --client", must(t, kubectlWith(t, nowhere, "", "imoocpod", "version", "--client")), `Client Version: v[^\n]+\n`)
	matches(t, "version --client -o json", must(t, kubectlWith(t, nowhere, "", "imoocpod", "version", "--client", "-o", "json")), `\{\n  "clientVersion": "v[^\n]+"\n\}\n`)
}
