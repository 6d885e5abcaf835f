package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

var (
	installingKinds sync.Mutex
	kindsInstalled  bool
)

// installKinds installs the CRDs in testdata/crds once. A comment in each file describes how its CRD is special. The
// CRDs do not affect other tests, and stay installed.
func installKinds(t *testing.T) {
	t.Helper()
	installingKinds.Lock()
	defer installingKinds.Unlock()
	if kindsInstalled {
		return
	}
	harness.Must(t, cluster.Kubectl(t, "", "apply", "-f", "testdata/crds"))
	cluster.AwaitEstablished(t, "-f", "testdata/crds")
	names := harness.Words(harness.Must(t, cluster.Kubectl(t, "", "get", "-f", "testdata/crds", "-o", "jsonpath={.items[*].spec.group}")))
	harness.Eventually(t, "the server publishes the schemas of all kinds", func() bool {
		published := harness.Must(t, cluster.Kubectl(t, "", "get", "--raw", "/openapi/v3"))
		for _, group := range names {
			if !strings.Contains(published, `"apis/`+group+`/v1"`) {
				return false
			}
		}
		return true
	})
	kindsInstalled = true
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// contains fails the test unless the pattern matches a part of got.
func contains(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("got\n%s\nwant a match for\n%s", got, pattern)
	}
}

// workload returns the manifest of a workload. more holds additional fields of its spec, with a comma at the end.
func workload(kind, name string, replicas int, more string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: {replicas: %d, %s selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: web}]}}}}`, kind, name, replicas, more)
}

// matches fails the test unless the pattern matches the whole output.
func matches(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("%s printed\n%s\nwant a match for\n%s", what, got, pattern)
	}
}
