package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each line of the JSON log is a record, and the log never contains the token.
func TestLogFormat(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const token = "the-secret-of-a-person" // sent in addition to the certificate, which has precedence
	p := cluster.StartRunController(t, ns, "--log-format", "json", "-v=8", "--kube-api-qps", "50", "--workers", "1", "--token", token)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	p.AwaitOutput(`"msg":"1 of 1 pods ready"`)
	p.Stop()
	found := false
	for line := range strings.Lines(p.Output()) {
		var r struct{ Time, Level, Msg, Kind, Namespace, Name string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Time == "" || r.Level == "" || r.Msg == "" {
			t.Fatalf("%q is not a complete log record (error %v)", line, err)
		}
		found = found || r.Msg == "0 → 1 pod: creating 1" && r.Kind == "imoocpods.batch.tutorial.kubebuilder.io" && r.Namespace == ns && r.Name == "foo"
	}
	if !found {
		t.Error("no log record reports that a pod of foo is created")
	}
	if strings.Contains(p.Output(), token) || !strings.Contains(p.Output(), "Authorization") {
		t.Error("the log contains the token, or no headers at all")
	}
}
