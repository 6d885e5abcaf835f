package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

const scaledFoo = "imoocpod.batch.tutorial.kubebuilder.io/foo scaled"

// No controller runs, so only the requested change happens.
func TestScale(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	version := func() string { return cluster.ImoocPod(t, ns, "foo").ResourceVersion }

	for _, step := range []struct {
		args  []string
		want  int32
		print string
	}{
		{[]string{"--replicas", "3"}, 3, scaledFoo + "\n"},
		{[]string{"-r", "0"}, 0, scaledFoo + "\n"},
		{[]string{"--replicas=0"}, 0, scaledFoo + "\n"}, // unchanged
		{[]string{"--replicas", "4", "--current-replicas", "0"}, 4, scaledFoo + "\n"},
		{[]string{"--replicas", "5", "--current-replicas", "-1"}, 5, scaledFoo + "\n"},
		{[]string{"--replicas", "6", "--resource-version", "now"}, 6, scaledFoo + "\n"},
		{[]string{"--replicas", "7", "--resource-version", "now", "--current-replicas", "6"}, 7, scaledFoo + "\n"},
		{[]string{"--replicas", "8", "-o", "name"}, 8, "imoocpod.batch.tutorial.kubebuilder.io/foo\n"},
		{[]string{"--replicas", "9", "-o", "jsonpath={.spec.replicas}"}, 9, "9"},
		{[]string{"--replicas", "1", "--dry-run"}, 9, scaledFoo + " (dry run)\n"},
		{[]string{"--replicas", "1", "--dry-run=client"}, 9, scaledFoo + " (dry run)\n"},
		{[]string{"--replicas", "1", "--dry-run=server"}, 9, scaledFoo + " (server dry run)\n"},
		{[]string{"--replicas", "1", "--dry-run=client", "-o", "jsonpath={.spec.replicas}"}, 9, "1"},
		{[]string{"--replicas", "1", "--dry-run=server", "-o", "jsonpath={.spec.replicas}"}, 9, "1"},
		{[]string{"--replicas", "1", "--dry-run=server", "-o", "name"}, 9, "imoocpod.batch.tutorial.kubebuilder.io/foo\n"},
		{[]string{"--replicas", "1", "--dry-run=client", "--current-replicas", "9", "--resource-version", "now"}, 9, scaledFoo + " (dry run)\n"},
		{[]string{"--replicas", "1", "--dry-run=server", "--timeout", "1h"}, 9, scaledFoo + " (server dry run)\n"}, // does not wait
		{[]string{"--by", "+2"}, 11, scaledFoo + "\n"},
		{[]string{"--by", "-1", "--current-replicas", "11"}, 10, scaledFoo + "\n"},
		{[]string{"--by=25%", "--resource-version", "now"}, 13, scaledFoo + "\n"}, // 2.5 is rounded up to 3
		{[]string{"--by=-50%"}, 6, scaledFoo + "\n"},
		{[]string{"--by", "+50%", "--dry-run=server", "-o", "jsonpath={.spec.replicas}"}, 6, "9"},
		{[]string{"--by", "+50%", "--dry-run=client", "-o", "jsonpath={.spec.replicas}"}, 6, "9"},
		{[]string{"--replicas", "2147483647", "--dry-run=none"}, 2147483647, scaledFoo + "\n"},
	} {
		before := version()
		args := append([]string{"scale", "foo"}, step.args...)
		for i, arg := range args {
			if arg == "now" {
				args[i] = before
			}
		}
		if out := cluster.Imoocpod(t, ns, args...); out != step.print {
			t.Errorf("%v printed %q, want %q", args, out, step.print)
		}
		if got := *cluster.ImoocPod(t, ns, "foo").Spec.Replicas; got != step.want {
			t.Fatalf("%v left %d replicas, want %d", args, got, step.want)
		}
		if dry := strings.Contains(step.print, "dry run"); dry && version() != before {
			t.Errorf("%v changed the object", args)
		}
	}

	// Standard error shows the change, and marks a dry run.
	for _, step := range []struct{ args, says string }{
		{"--replicas 4", "imoocpod/foo: 2147483647 → 4\n"},
		{"--replicas 4 -o name", "imoocpod/foo: 4 → 4\n"},
		{"--replicas 6 --dry-run=client", "imoocpod/foo: 4 → 6 (dry run)\n"},
		{"--by +3 --dry-run=server", "imoocpod/foo: 4 → 7 (server dry run)\n"},
		{"--by +1", "imoocpod/foo: 4 → 5\n"},
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "foo"}, strings.Fields(step.args)...)...)
		harness.Must(t, r)
		says := step.says
		if !strings.Contains(says, "dry run") {
			says += noLoop("imoocpods", ns)
		}
		if r.Stderr != says {
			t.Errorf("%s said %q, want %q", r.Line, r.Stderr, says)
		}
	}

	var shown v1alpha1.ImoocPod
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	if *shown.Spec.Replicas != 1 || shown.ResourceVersion != version() {
		t.Errorf("-o json printed %+v", shown)
	}
	if out := cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "-o", "yaml"); !strings.Contains(out, "\nspec:\n  replicas: 1\n") {
		t.Errorf("-o yaml printed %s", out)
	}
}

// noLoop returns the warning that no controller acts on a change.
func noLoop(kind, namespace string) string {
	return fmt.Sprintf("Warning: no controller runs for %s in namespace %[2]s. Start one with: kubectl imoocpod run-controller -n %[2]s\n", kind, namespace)
}

// An object that is being deleted cannot be scaled or restarted.
func TestScaleTerminatingObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.SetFinalizers(t, ns, "foo", `["example.com/hold"]`)
	cluster.Imoocpod(t, ns, "delete", "foo", "--wait=false")
	for _, args := range [][]string{{"--replicas", "3"}, {"--by", "+1"}, {"--replicas", "3", "--replicas-path", ".spec.replicas"}, {"--replicas", "3", "--dry-run=client"}} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "foo"}, args...)...)
		if r.Code != harness.ExitError || r.Stdout != "" || r.Stderr != "error: imoocpod/foo is being deleted and cannot be scaled\n" {
			t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
		}
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "restart", "foo")
	if r.Code != harness.ExitError || r.Stdout != "" || r.Stderr != "error: imoocpod/foo is being deleted and cannot be restarted\n" {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	cluster.SetFinalizers(t, ns, "foo", "null")
}

// Commands that change an object without a controller warn at once.
func TestWarningWithoutController(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, step := range []struct {
		args  string
		warns bool
	}{
		{"create foo --dry-run=server", false},
		{"create foo", true},
		{"create helloworld/hi", false}, // below
		{"restart foo --dry-run=client", false},
		{"restart foo", true},
		{"scale foo --replicas 2", true},
		{"delete foo", false},
	} {
		kind := "imoocpods"
		if strings.Contains(step.args, "helloworld") {
			kind, step.warns = "helloworlds", true
		}
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, strings.Fields(step.args)...)...)
		if harness.Must(t, r); strings.HasSuffix(r.Stderr, noLoop(kind, ns)) != step.warns {
			t.Errorf("%s said %q", r.Line, r.Stderr)
		}
	}
	// Without the right to read leases in all namespaces, there is no warning.
	blind := newUser(t, ns, "create")
	if r := cluster.Kubectl(t, ns, "imoocpod", "create", "bar", "--as", blind); r.Code != 0 || r.Stderr != "" {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "wait", "bar", "--timeout", "2m") // so that the controller has the lease
	if r := cluster.Kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "0"); r.Code != 0 || r.Stderr != "" {
		t.Errorf("with a controller: exit code %d, said %q", r.Code, r.Stderr)
	}
}

// With --wait, the command waits as long as necessary, and -o json prints one document
// per line.
func TestScaleWait(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "1", "--wait", "--timeout", "2s"); r.Code != harness.ExitTimeout {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	w := cluster.StartPlugin(t, "scale", "foo", "-n", ns, "--replicas", "2", "--wait", "-o", "json")
	w.AwaitOutput("\"replicas\":2")
	cluster.StartRunController(t, ns)
	if code := w.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if foo := cluster.ImoocPod(t, ns, "foo"); foo.Status.ReadyReplicas != 2 {
		t.Errorf("the wait was over at the status %+v", foo.Status)
	}
}

// Concurrent relative changes all take effect.
func TestConcurrentScaleBy(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "10")
	const searches = "searches.array.example.com"
	cluster.CreateObject(t, ns, searches, "{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: [{name: hot, count: 10}]}}")
	var running sync.WaitGroup
	for _, step := range []string{"+1", "+2", "-1", "+4"} {
		for _, args := range [][]string{{"scale", "foo"}, {"scale", "search/it", "--replicas-path", `.spec.nodeSets[?(@.name=="hot")].count`}} {
			running.Go(func() {
				if r := cluster.Kubectl(t, ns, append(append([]string{"imoocpod"}, args...), "--by", step)...); r.Code != 0 {
					t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
				}
			})
		}
	}
	running.Wait()
	if got := *cluster.ImoocPod(t, ns, "foo").Spec.Replicas; got != 16 {
		t.Errorf("foo has %d replicas, want 16", got)
	}
	changed, _, _ := unstructured.NestedSlice(cluster.Object(t, ns, searches, "it").Object, "spec", "nodeSets")
	if got := fmt.Sprint(changed); got != "[map[count:16 name:hot]]" {
		t.Errorf("the node sets are %s, want a count of 16", got)
	}
}

// With a timeout, the command returns when the pods are ready, or prints what prevents
// that.
func TestScaleTimeout(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	// No controller runs.
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "2", "--timeout", "5s")
	unseen := "error: wait for imoocpod/foo to be ready: timed out; last seen: not reconciled: no controller has seen it yet\nhint: kubectl imoocpod run-controller -n " + ns + "\n"
	if r.Code != harness.ExitTimeout || !strings.HasSuffix(r.Stderr, unseen) || r.Stdout != scaledFoo+"\n" {
		t.Errorf("exit code %d, printed %q, said %q, want %q", r.Code, r.Stdout, r.Stderr, unseen)
	}

	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3", "--timeout", "5m")
	foo := cluster.ImoocPod(t, ns, "foo")
	if foo.Status.ReadyReplicas != 3 || foo.Status.ObservedGeneration != foo.Generation {
		t.Errorf("the wait was over at the status %+v of generation %d", foo.Status, foo.Generation)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3", "--timeout", "5m") // unchanged
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "--timeout", "5m")
	if foo := cluster.ImoocPod(t, ns, "foo"); foo.Status.Replicas != 1 {
		t.Errorf("the wait was over at the status %+v", foo.Status)
	}

	// Pods cannot be created.
	quota(t, ns, "1")
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "2", "--timeout", "10s")
	if r.Code != harness.ExitTimeout || !strings.Contains(r.Stderr, "timed out; last seen: failed: cannot create more pods: exceeded quota: few") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	l.Stop()

	// The object is deleted during the wait.
	w := cluster.StartPlugin(t, "scale", "foo", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.AwaitOutput(scaledFoo)
	cluster.Imoocpod(t, ns, "delete", "foo")
	if code := w.Wait(); code != harness.ExitNotFound {
		t.Errorf("the wait for a deleted object ended with exit code %d, want %d", code, harness.ExitNotFound)
	}
	w.AwaitOutput("was deleted during the wait")

	// Ctrl-C ends the wait.
	cluster.Imoocpod(t, ns, "create", "foo")
	w = cluster.StartPlugin(t, "scale", "foo", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.AwaitOutput(scaledFoo)
	if code := w.Stop(); code != harness.ExitInterrupted {
		t.Errorf("Ctrl-C ended the wait with exit code %d, want %d", code, harness.ExitInterrupted)
	}

	// A user who may scale but not read fails at once, not after an hour.
	blind := newUser(t, ns, "patch", "get")
	blocked := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "2", "--timeout", "1h", "--as", blind)
	if want := fmt.Sprintf("User %q cannot list resource", blind); blocked.Code != harness.ExitForbidden || blocked.Stdout != scaledFoo+"\n" || !strings.Contains(blocked.Stderr, want) {
		t.Errorf("exit code %d, said %q, want %q in it", blocked.Code, blocked.Stderr, want)
	}
	watchless := newUser(t, ns, "patch", "get", "list")
	blocked = cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "3", "--timeout", "1h", "--as", watchless)
	if want := fmt.Sprintf("User %q cannot watch resource", watchless); blocked.Code != harness.ExitForbidden || !strings.Contains(blocked.Stderr, want) {
		t.Errorf("exit code %d, said %q, want %q in it", blocked.Code, blocked.Stderr, want)
	}
}
