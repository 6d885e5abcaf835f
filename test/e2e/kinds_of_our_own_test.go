package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
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

// changedOnly fails the test unless only the value at the path has changed. The path
// consists of field names and list indexes.
func changedOnly(t *testing.T, before, after *unstructured.Unstructured, value any, path ...any) {
	t.Helper()
	want := before.DeepCopy()
	if len(path) > 0 {
		put(t, want.Object, value, path...)
	}
	if got := plain(after); !reflect.DeepEqual(got, plain(want)) {
		t.Errorf("%s is\n%s\nwant\n%s", before.GetName(), toJSON(t, got), toJSON(t, plain(want)))
	}
}

// plain returns an object without the metadata that every change modifies.
func plain(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	return obj.Object
}

// put sets a value, deliberately not with the plugin's own code.
func put(t *testing.T, in any, value any, path ...any) {
	t.Helper()
	for i, key := range path {
		switch in := in.(type) {
		case map[string]any:
			name := fmt.Sprint(key)
			if i == len(path)-1 {
				in[name] = value
				return
			}
			if in[name] == nil {
				in[name] = map[string]any{}
			}
		case []any:
		default:
			t.Fatalf("%v leads nowhere", path[:i])
		}
		in = below(in, key)
	}
	t.Fatalf("%v ends with no field", path)
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

// commands returns the commands in a refusal by their paths.
func commands(t *testing.T, r harness.Result) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ {4}(kubectl imoocpod .* --replicas-path '?(.*?)'?)$`).FindAllStringSubmatch(r.Stderr, -1) {
		found[m[2]] = m[1]
	}
	return found
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

// keys returns the keys of a map for messages.
func keys[V any](m map[string]V) []string {
	var all []string
	for key := range maps.Keys(m) {
		all = append(all, key)
	}
	return all
}

// contains fails the test unless the pattern matches somewhere.
func contains(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("got\n%s\nwant a match for\n%s", got, pattern)
	}
}
