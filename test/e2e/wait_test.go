package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const met = " condition met"

// A wait ends when its condition is met, and not before.
func TestWait(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const foo, bar = "imoocpod.batch.tutorial.kubebuilder.io/foo", "imoocpod.batch.tutorial.kubebuilder.io/bar"

	// wait can wait for the creation of objects; without that, missing objects are an
	// error.
	comes := cluster.StartPlugin(t, "wait", "imoocpod/foo", "imoocpod/bar", "-n", ns, "--for=create", "--timeout", "1h")
	both := cluster.StartPlugin(t, "wait", "imoocpod", "foo", "bar", "-n", ns, "--for=ready", "--for=create", "--timeout", "1h")
	configMap := cluster.StartPlugin(t, "wait", "configmap/late", "-n", ns, "--for=create", "--timeout", "1h")
	if r := cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "1h"); r.Code != harness.ExitNotFound {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	comes.AwaitOutput("1 of 2 objects are there")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1")
	if code := comes.Wait(); code != 0 || !strings.Contains(comes.Output(), foo+met) || !strings.Contains(comes.Output(), bar+met) {
		t.Errorf("exit code %d, said %s", code, comes.Output())
	}
	harness.Must(t, cluster.Kubectl(t, ns, "create", "configmap", "late"))
	if code := configMap.Wait(); code != 0 || !strings.Contains(configMap.Output(), "configmap/late"+met) {
		t.Errorf("exit code %d, said %s", code, configMap.Output())
	}

	// No controller reconciles them.
	r := cluster.Kubectl(t, ns, "imoocpod", "wait", "imoocpod", "foo", "bar", "--timeout", "0")
	if r.Code != harness.ExitTimeout || r.Stdout != "" || strings.Count(r.Stderr, "last seen: not reconciled") != 2 {
		t.Errorf("exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
	l := cluster.StartRunController(t, ns)
	if code := both.Wait(); code != 0 || !strings.Contains(both.Output(), foo+met) || !strings.Contains(both.Output(), bar+met) {
		t.Errorf("exit code %d, said %s", code, both.Output())
	}
	if out := cluster.Imoocpod(t, ns, "create", "baz", "--replicas", "3", "--wait"); out != strings.Replace(foo, "foo", "baz", 1)+" created\n" {
		t.Errorf("it printed %q", out)
	}
	if s := cluster.ImoocPod(t, ns, "baz").Status; s.ReadyReplicas != 3 {
		t.Errorf("the wait was over at %+v", s)
	}
	if out := cluster.Imoocpod(t, ns, "wait", "imoocpod", "--all", "--timeout", "1h", "-o", "name"); strings.Count(out, "imoocpod.batch") != 3 {
		t.Errorf("it printed %q", out)
	}
	for _, test := range []struct {
		goal string
		code int
	}{
		{"condition=ready", 0}, {"condition=Ready=TRUE", 0}, {"condition=Ready=false", harness.ExitTimeout}, {"condition=None", harness.ExitTimeout},
		{"jsonpath={.status.readyReplicas}=2", 0}, {"jsonpath=.status.readyReplicas", 0}, {"jsonpath={.status.readyReplicas}=3", harness.ExitTimeout},
		{`jsonpath={.status.conditions[?(@.type=="Ready")].status}=True`, 0}, {"jsonpath={.status.none}", harness.ExitTimeout},
		{"jsonpath={.status}=3", 1}, {"delete", harness.ExitTimeout}, {"create", 0},
	} {
		if r := cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "0", "--for", test.goal); r.Code != test.code || (r.Code == 0) != (r.Stdout == foo+met+"\n") {
			t.Errorf("--for=%s: exit code %d, printed %q, said %q, want %d", test.goal, r.Code, r.Stdout, r.Stderr, test.code)
		}
	}

	// A condition from before a change does not count after it.
	l.Stop()
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "5")
	for _, goal := range []string{"condition=Ready", "ready"} {
		if r := cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "0", "--for", goal); r.Code != harness.ExitTimeout {
			t.Errorf("--for=%s: exit code %d", goal, r.Code)
		}
	}

	goes := cluster.StartPlugin(t, "wait", "imoocpod", "foo", "bar", "none", "-n", ns, "--for=delete", "--timeout", "-1s")
	goes.AwaitOutput("1 of 3 objects are gone")
	cluster.Imoocpod(t, ns, "delete", "imoocpod", "foo", "bar")
	if code := goes.Wait(); code != 0 || strings.Count(goes.Output(), met) != 3 {
		t.Errorf("exit code %d, said %s", code, goes.Output())
	}
}

// Objects of the same name in several namespaces are distinguished.
func TestWaitInAllNamespaces(t *testing.T) {
	t.Parallel()
	ns, other := cluster.NewNamespace(t), cluster.NewNamespace(t)
	for _, namespace := range []string{ns, other} {
		cluster.Imoocpod(t, namespace, "create", "foo", "--replicas", "0")
		harness.Must(t, cluster.Kubectl(t, namespace, "label", "imoocpod/foo", "test="+ns))
	}
	out := cluster.Imoocpod(t, ns, "wait", "imoocpods", "-A", "-l", "test="+ns, "--for=jsonpath={.spec.replicas}=0")
	for _, namespace := range []string{ns, other} {
		if want := "imoocpod.batch.tutorial.kubebuilder.io/foo condition met in namespace " + namespace + "\n"; !strings.Contains(out, want) {
			t.Errorf("printed %q, want %q in it", out, want)
		}
	}
}

// With --wait -o json, every change is a document on one line.
func TestWaitInJSON(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	out := cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3", "--wait", "-o", "json")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) < 2 {
		t.Fatalf("it printed %q", out)
	}
	for i, line := range lines {
		var document struct {
			Kind, Verdict string
			Replicas      struct{ Ready int }
		}
		if err := json.Unmarshal([]byte(line), &document); err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 0 && document.Kind != "ImoocPod", i > 0 && document.Kind != "StatusReport":
			t.Errorf("line %d is %s", i, line)
		case i == len(lines)-1 && (document.Verdict != "ready" || document.Replicas.Ready != 3):
			t.Errorf("the last line is %s", line)
		}
	}
}

// A wait survives broken connections, expired watches, and an overloaded server.
func TestWaitOutlivesConnections(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	server := &unsteadyServer{}
	w := cluster.StartPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--server", server.start(t), "--certificate-authority=")
	harness.Eventually(t, "each fault has happened twice", func() bool {
		return server.cut.Load() > 1 && server.gone.Load() > 1 && server.busy.Load() > 1
	})
	cluster.StartRunController(t, ns)
	if code := w.Wait(); code != 0 || !strings.Contains(w.Output(), "foo"+met) {
		t.Errorf("exit code %d, said %s", code, w.Output())
	}
	if strings.Contains(w.Output(), "error") || strings.Contains(w.Output(), "retrywatcher") {
		t.Errorf("it reports a past problem: %s", w.Output())
	}
}

// unsteadyServer is a proxy to the API server that cuts or expires watches, and answers
// some lists of ImoocPods after the first with 503.
type unsteadyServer struct {
	watches, lists, cut, gone, busy atomic.Int32
}

func (u *unsteadyServer) start(t *testing.T) string {
	t.Helper()
	proxy := cluster.ServerProxy(t)
	refuse := func(w http.ResponseWriter, code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code) //nolint:errcheck // the client may be gone
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ofObject := strings.HasSuffix(r.URL.Path, "/imoocpods")
		switch {
		case harness.IsWatch(r) && u.watches.Add(1)%3 == 0:
			u.gone.Add(1)
			refuse(w, http.StatusGone, metav1.StatusReasonExpired)
		case harness.IsWatch(r):
			ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
			defer cancel()
			u.cut.Add(1)
			proxy.ServeHTTP(w, r.WithContext(ctx))
		case ofObject && u.lists.Add(1)%2 == 0:
			u.busy.Add(1)
			refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// setReplicas sets the count of an ImoocPod as another field manager.
func setReplicas(t *testing.T, ns, name, manager string, n int) {
	t.Helper()
	_, err := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}

// A restart with a wait ends when every pod has been replaced, even if no generation
// shows that the controller has seen it.
func TestRestartWaits(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	targets := []string{"imoocpod/foo", "appservice/app", "helloworld/hello", "deployment/web"}
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	for _, target := range targets[:3] {
		cluster.Imoocpod(t, ns, "create", target, "--replicas", "2", "--wait")
	}
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "-1s")
	pods := func() map[string]bool {
		uids := map[string]bool{}
		for _, target := range targets {
			for uid := range strings.FieldsSeq(cluster.Imoocpod(t, ns, "status", target, "-o", "jsonpath={.pods[*].uid}")) {
				uids[uid] = true
			}
		}
		return uids
	}
	before := pods()
	cluster.Imoocpod(t, ns, append([]string{"restart", "--wait"}, targets...)...)
	after := pods()
	if len(before) != 8 || len(after) != 8 {
		t.Errorf("there were %d pods, and are %d", len(before), len(after))
	}
	for uid := range after {
		if before[uid] {
			t.Errorf("pod %s is an old one", uid)
		}
	}
}
