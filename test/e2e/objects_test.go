package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var (
	installingKinds sync.Mutex
	kindsInstalled  bool
)

// installKinds installs the small CRDs of testdata/crds once: one for each way in which
// CRDs hold a replica count. They do not disturb other tests, and remain.
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

// below returns an element of a map or list.
func below(in, key any) any {
	switch key := key.(type) {
	case string:
		fields, _ := in.(map[string]any)
		return fields[key]
	case int:
		list, _ := in.([]any)
		return list[key]
	}
	return nil
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ownedBy makes owner the controller of an object.
func ownedBy(t *testing.T, namespace, resource, name string, owner *unstructured.Unstructured) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"ownerReferences": []*metav1.OwnerReference{metav1.NewControllerRef(owner, owner.GroupVersionKind())},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Dynamic.Resource(harness.Resource(resource)).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// contains fails the test unless the pattern matches somewhere.
func contains(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("got\n%s\nwant a match for\n%s", got, pattern)
	}
}

// The other verbs, on kinds that this program does not ship.

// model is the part of status -o json that these tests check.
type model struct {
	Metadata struct{ Type, Name string }
	Verdict  string
	Reason   string
	Replicas struct{ Desired, Current, Ready int }
	Pods     []struct {
		Name  string
		Ready bool
	}
}

func statusOf(t *testing.T, ns, target string) model {
	t.Helper()
	var m model
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", target, "-o", "json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func workload(kind, name string, replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: {replicas: %d, selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: web}]}}}}`, kind, name, replicas)
}
