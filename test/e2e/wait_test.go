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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const met = " condition met"

// What is waited for is there when the wait is over, and not before.
func TestWait(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	const foo, bar = "imoocpod.batch.tutorial.kubebuilder.io/foo", "imoocpod.batch.tutorial.kubebuilder.io/bar"

	// What does not exist yet can be waited for; what is not looked for is not there.
	comes := startPlugin(t, "wait", "imoocpod/foo", "imoocpod/bar", "-n", ns, "--for=create", "--timeout", "1h")
	both := startPlugin(t, "wait", "imoocpod", "foo", "bar", "-n", ns, "--for=ready", "--for=create", "--timeout", "1h")
	configMap := startPlugin(t, "wait", "configmap/late", "-n", ns, "--for=create", "--timeout", "1h")
	if r := kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "1h"); r.code != exitNotFound {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	comes.says("1 of 2 objects are there")
	imoocpod(t, ns, "create", "bar", "--replicas", "1")
	if code := comes.ends(); code != 0 || !strings.Contains(comes.output(), foo+met) || !strings.Contains(comes.output(), bar+met) {
		t.Errorf("exit code %d, said %s", code, comes.output())
	}
	must(t, kubectl(t, ns, "create", "configmap", "late"))
	if code := configMap.ends(); code != 0 || !strings.Contains(configMap.output(), "configmap/late"+met) {
		t.Errorf("exit code %d, said %s", code, configMap.output())
	}

	// Nobody reconciles them.
	r := kubectl(t, ns, "imoocpod", "wait", "imoocpod", "foo", "bar", "--timeout", "0")
	if r.code != exitTimeout || r.stdout != "" || strings.Count(r.stderr, "not reconciled") != 2 {
		t.Errorf("exit code %d, printed %q, said %q", r.code, r.stdout, r.stderr)
	}
	l := startLoop(t, ns)
	if code := both.ends(); code != 0 || !strings.Contains(both.output(), foo+met) || !strings.Contains(both.output(), bar+met) {
		t.Errorf("exit code %d, said %s", code, both.output())
	}
	if out := imoocpod(t, ns, "create", "baz", "--replicas", "3", "--wait"); out != strings.Replace(foo, "foo", "baz", 1)+" created\n" {
		t.Errorf("it printed %q", out)
	}
	if s := getImoocPod(t, ns, "baz").Status; s.ReadyReplicas != 3 {
		t.Errorf("the wait was over at %+v", s)
	}
	if out := imoocpod(t, ns, "wait", "imoocpod", "--all", "--timeout", "1h", "-o", "name"); strings.Count(out, "imoocpod.batch") != 3 {
		t.Errorf("it printed %q", out)
	}
	for _, test := range []struct {
		goal string
		code int
	}{
		{"condition=ready", 0}, {"condition=Ready=TRUE", 0}, {"condition=Ready=false", exitTimeout}, {"condition=None", exitTimeout},
		{"jsonpath={.status.readyReplicas}=2", 0}, {"jsonpath=.status.readyReplicas", 0}, {"jsonpath={.status.readyReplicas}=3", exitTimeout},
		{`jsonpath={.status.conditions[?(@.type=="Ready")].status}=True`, 0}, {"jsonpath={.status.none}", exitTimeout},
		{"jsonpath={.status}=3", 1}, {"delete", exitTimeout}, {"create", 0},
	} {
		if r := kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "0", "--for", test.goal); r.code != test.code || (r.code == 0) != (r.stdout == foo+met+"\n") {
			t.Errorf("--for=%s: exit code %d, printed %q, said %q, want %d", test.goal, r.code, r.stdout, r.stderr, test.code)
		}
	}

	// A condition of before a change is not one of after it.
	l.stop()
	imoocpod(t, ns, "scale", "foo", "--replicas", "5")
	for _, goal := range []string{"condition=Ready", "ready"} {
		if r := kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "0", "--for", goal); r.code != exitTimeout {
			t.Errorf("--for=%s: exit code %d", goal, r.code)
		}
	}

	goes := startPlugin(t, "wait", "imoocpod", "foo", "bar", "none", "-n", ns, "--for=delete", "--timeout", "-1s")
	goes.says("1 of 3 objects are gone")
	imoocpod(t, ns, "delete", "imoocpod", "foo", "bar")
	if code := goes.ends(); code != 0 || strings.Count(goes.output(), met) != 3 {
		t.Errorf("exit code %d, said %s", code, goes.output())
	}
}

// With --wait -o json every change is a document to a line.
func TestWaitInJSON(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	out := imoocpod(t, ns, "create", "foo", "--replicas", "3", "--wait", "-o", "json")
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

// A wait outlives connections that break, watches that have become too old, and
// a server that has too much to do.
func TestWaitOutlivesConnections(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	server := &unsteadyServer{}
	w := startPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--server", server.start(t), "--certificate-authority=")
	eventually(t, "each fault has happened twice", func() bool {
		return server.cut.Load() > 1 && server.gone.Load() > 1 && server.busy.Load() > 1
	})
	startLoop(t, ns)
	if code := w.ends(); code != 0 || !strings.HasSuffix(w.output(), "foo"+met) {
		t.Errorf("exit code %d, said %s", code, w.output())
	}
	if strings.Contains(w.output(), "error") || strings.Contains(w.output(), "retrywatcher") {
		t.Errorf("it tells of what is over: %s", w.output())
	}
}

// unsteadyServer stands in front of the API server. It cuts watches or says that
// they are too old, and answers a list of ImoocPods but the first with 503 now
// and then.
type unsteadyServer struct {
	watches, lists, cut, gone, busy atomic.Int32
}

func (u *unsteadyServer) start(t *testing.T) string {
	t.Helper()
	proxy := serverProxy(t)
	refuse := func(w http.ResponseWriter, code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code) //nolint:errcheck // who asked may be gone
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ofObject := strings.HasSuffix(r.URL.Path, "/imoocpods")
		switch {
		case isWatch(r) && u.watches.Add(1)%3 == 0:
			u.gone.Add(1)
			refuse(w, http.StatusGone, metav1.StatusReasonExpired)
		case isWatch(r):
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
	_, err := cluster.dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}

// A restart that is waited for has replaced every pod, also where no generation
// tells that the controller has seen it.
func TestRestartWaits(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	targets := []string{"imoocpod/foo", "appservice/app", "helloworld/hello", "deployment/web"}
	makeObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	for _, target := range targets[:3] {
		imoocpod(t, ns, "create", target, "--replicas", "2", "--wait")
	}
	imoocpod(t, ns, "wait", "deployment/web", "--timeout", "-1s")
	pods := func() map[string]bool {
		uids := map[string]bool{}
		for _, target := range targets {
			for uid := range strings.FieldsSeq(imoocpod(t, ns, "status", target, "-o", "jsonpath={.pods[*].uid}")) {
				uids[uid] = true
			}
		}
		return uids
	}
	before := pods()
	imoocpod(t, ns, append([]string{"restart", "--wait"}, targets...)...)
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
