package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// "kinds rbac -f" reads the CRD that "kinds new" prints. Both reject invalid arguments. Neither needs a
// server.
func TestKindsNewAndRBAC(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, error) {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		root := NewRootCommand("v1.2.3", streams)
		root.SetArgs(args)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	crd, err := run("kinds", "new", "Foo", "--group", "example.com")
	if err != nil || !strings.Contains(crd, "name: foos.example.com") {
		t.Fatalf("%v, printed\n%s", err, crd)
	}
	file := filepath.Join(t.TempDir(), "foo.yaml")
	if err := os.WriteFile(file, []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	if roles, err := run("kinds", "rbac", "-f", file); err != nil || !strings.Contains(roles, "# The permissions of \"run-controller --kinds foos.example.com\"") || !strings.Contains(roles, "kind: ClusterRole") {
		t.Errorf("%v, printed\n%s", err, roles)
	}
	for _, args := range [][]string{
		{"kinds", "new", "Foo"}, {"kinds", "new", "Foo", "--group", "example.com", "--image", ""}, {"kinds", "new", "foo", "--group", "example.com"},
		{"kinds", "new", "Foo", "--group", "example.com", "-o", "table"}, {"kinds", "rbac", "-f", file, "-o", "table"},
	} {
		if out, err := run(args...); err == nil {
			t.Errorf("%q printed\n%s", args, out)
		}
	}
}
