package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// hostile is text that a user with write access to a namespace may put into an object: a
// window title, several ways to forge a new line, a sequence to clear the screen, and
// right-to-left text.
const hostile = "w\x1b]0;title\x07\rFORGED 1 of 1 pods ready\nFORGED\u2028FORGED\u0085FORGED\x1b[2J\u009b2J\u202eback\u2066\u200b\ufeff\U000e0041\x7f"

// mustBeHarmless fails the test if output contains control characters or forged lines.
// Without a terminal, there must be no color either.
func mustBeHarmless(t *testing.T, what, said string) {
	t.Helper()
	if !utf8.ValidString(said) {
		t.Errorf("%s writes what is no UTF-8: %q", what, said)
	}
	for line := range strings.SplitSeq(said, "\n") {
		if strings.HasPrefix(line, "FORGED") {
			t.Errorf("%s shows a line that was forged: %q", what, line)
		}
		if at := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' }); at >= 0 {
			t.Errorf("%s writes %q as it is, in %q", what, line[at:min(at+4, len(line))], line)
		}
	}
	if !strings.Contains(said, `\x1b`) {
		t.Errorf("%s shows nothing of what was written:\n%s", what, said)
	}
}

// Users with write access to a namespace, and even the server, influence the output. It
// must be shown without affecting the reader's terminal.
//
// CRDs are global, and "check" complains about these, so this test runs before the
// parallel tests.
func TestHostileText(t *testing.T) {
	ns := cluster.NewNamespace(t)
	h := hostileObjects{t: t, namespace: ns}
	h.pods()
	h.definitions()
	h.leases()
	server := hostileServer(t)

	// Run the verbs concurrently: they mostly wait.
	var running sync.WaitGroup
	for _, line := range []string{
		"status -o wide", "status --only not-ready", "status -o custom-columns=A:.metadata.name,B:.reason,C:.problems",
		"status foo", "status bar", "status imoocpod/foo imoocpod/bar -o wide", "status bar --exit-code -o wide", "status bar --wait --fail-after 0s",
		"status hostile/x", "describe foo", "describe bar", "describe hostile/x", "wait bar --timeout 1m --fail-after 0s",
		"scale bar --replicas 1 --timeout 1m --fail-after 0s", "scale hostile/x --replicas 2",
		"check", "kinds", "kinds -o wide", "kinds rbac wrongs",
		"run-controller -l app=foo --once --timeout 3s",
		"run-controller -l app=foo,!a --once --timeout 3s --log-format text", "run-controller -l app=foo,!b --once --timeout 3s --log-format json",
		"run-controller -l app=held --if-held=exit --once --timeout 3s",
		"status bar -v=8",
		"version --kubeconfig " + server, "check --kubeconfig " + server, "create evil --kubeconfig " + server,
		"status --kubeconfig " + server, "delete bar --kubeconfig " + server, "kinds --kubeconfig " + server,
		"run-controller -l app=foo,!c --once --timeout 3s --kubeconfig " + server,
	} {
		running.Go(func() { mustBeHarmless(t, line, plugin(t, ns, line)) })
	}
	running.Wait()
	mustBeHarmless(t, "a completion", plugin(t, ns, "__complete scale hostile/x --replicas-path ")) // completion gives up on a busy machine
	for _, e := range h.eventsOfLoop() {
		mustBeHarmless(t, "an event of the loop", e)
	}
	// A context whose name cannot be typed is not offered.
	if said := plugin(t, ns, "__complete status --kubeconfig "+server+" --context "); strings.Contains(said, "FORGED") {
		t.Errorf("the completion of contexts is %q", said)
	}

	// On a terminal, only our own escape sequences appear.
	s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", "status", "bar", "-w", "-n", ns)
	s.AwaitText(`\x1b]0;title`)
	s.Stop()
	for _, raw := range []string{"\x1b]", "\x07", "\rFORGED", "\nFORGED", "\x1b[2J", "\u009b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\u0085", "\x7f"} {
		if strings.Contains(s.Written(), raw) {
			t.Errorf("the screen has %q raw", raw)
		}
	}
}

// plugin runs the program without kubectl, and returns its whole output. The exit code
// does not matter here.
func plugin(t *testing.T, namespace, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Timeout)
	defer cancel()
	args := strings.Split(line, " ")
	if args[0] == cobra.ShellCompRequestCmd { // its last word is the one to complete
		args = slices.Insert(args, len(args)-2, "-n", namespace)
	} else {
		args = append(args, "-n", namespace)
	}
	cmd := exec.CommandContext(ctx, cluster.PluginDir+"/kubectl-imoocpod", args...)
	cmd.Env = cluster.Environment()
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(said)
}

// hostileObjects creates objects that the server accepts and that contain hostile text.
type hostileObjects struct {
	t         *testing.T
	namespace string
	foo       types.UID
}

// pods creates foo, whose pod's name is taken, and bar with a failing pod.
func (h *hostileObjects) pods() {
	var bar types.UID
	for name, uid := range map[string]*types.UID{"foo": &h.foo, "bar": &bar} {
		*uid = h.owner(name)
	}
	h.pod(slots.PodName("foo", h.foo, "", slots.Slot(0)), metav1.OwnerReference{APIVersion: "v1", Kind: hostile, Name: hostile, UID: "1"})
	pod := h.pod("bar-0", metav1.OwnerReference{
		APIVersion: kinds.ImoocPod().GroupVersionKind().GroupVersion().String(), Kind: "ImoocPod", Name: "bar", UID: bar,
	})
	cluster.PatchPodStatus(h.t, h.namespace, pod.Name, map[string]any{
		"phase": "Pending", "message": hostile, "reason": hostile,
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": hostile, "message": hostile},
		},
		"containerStatuses": []any{map[string]any{
			"name": "main", "image": hostile, "imageID": hostile, "restartCount": 1, "state": map[string]any{"waiting": map[string]any{"reason": hostile, "message": hostile}},
		}},
	})
	for _, on := range []corev1.ObjectReference{
		{Kind: "ImoocPod", Name: "bar", UID: bar, Namespace: h.namespace},
		{Kind: "Pod", Name: pod.Name, UID: pod.UID, Namespace: h.namespace},
	} {
		_, err := cluster.Core.Events(h.namespace).Create(h.t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "hostile-"}, InvolvedObject: on, Type: "Warning", Reason: hostile, Message: hostile,
			Source: corev1.EventSource{Component: hostile, Host: hostile}, LastTimestamp: metav1.Now(), Count: 2,
		}, metav1.CreateOptions{})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// owner creates an ImoocPod that wants a pod.
func (h *hostileObjects) owner(name string) types.UID {
	objects := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(h.namespace)
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(1),
		"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"hostile": hostile}}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": hostile, "command": []any{hostile}}},
		}},
	}}}
	obj.SetGroupVersionKind(kinds.ImoocPod().GroupVersionKind())
	obj.SetName(name)
	obj.SetLabels(map[string]string{"app": name})
	obj.SetAnnotations(map[string]string{"hostile": hostile})
	obj, err := objects.Create(h.t.Context(), obj, metav1.CreateOptions{FieldManager: hostile[:1]})
	if err != nil {
		h.t.Fatal(err)
	}
	obj.Object["status"] = map[string]any{"replicas": int64(1), "observedGeneration": int64(1), "conditions": []any{map[string]any{
		"type": "ReplicaFailure", "status": "True", "reason": "NameTaken", "message": hostile, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}}
	if _, err := objects.UpdateStatus(h.t.Context(), obj, metav1.UpdateOptions{}); err != nil {
		h.t.Fatal(err)
	}
	return obj.GetUID()
}

// pod creates an unschedulable pod with a controller reference.
func (h *hostileObjects) pod(name string, controller metav1.OwnerReference) *corev1.Pod {
	controller.Controller = new(true)
	pod, err := cluster.Core.Pods(h.namespace).Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{controller}, Annotations: map[string]string{"hostile": hostile},
		},
		Spec: corev1.PodSpec{
			Containers:      []corev1.Container{{Name: "main", Image: hostile, Command: []string{hostile}}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "e2e/never"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return pod
}

// definitions creates a kind with an ambiguous count, and one with an invalid
// declaration.
func (h *hostileObjects) definitions() {
	for plural, annotations := range map[string]map[string]string{
		"hostiles": {"hostile": hostile},
		"wrongs":   {kinds.AnnotationPlan: hostile, kinds.AnnotationReplicasPath: hostile},
	} {
		kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
		count := map[string]any{"type": "integer", "description": hostile}
		object := func(properties map[string]any) map[string]any {
			return map[string]any{"type": "object", "description": hostile, "properties": properties, "x-kubernetes-preserve-unknown-fields": true}
		}
		crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"group": "hostile.example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": object(map[string]any{
					"spec": object(map[string]any{"replicas": count, hostile: object(map[string]any{"replicas": count})}), "status": object(nil),
				})},
			}},
		}}}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		crd.SetName(plural + ".hostile.example.com")
		crd.SetAnnotations(annotations)
		if _, err := cluster.CRDs().Create(h.t.Context(), crd, metav1.CreateOptions{}); err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() {
			if err := cluster.CRDs().Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
				h.t.Error(err)
			}
		})
	}
	cluster.AwaitEstablished(h.t, "crd/hostiles.hostile.example.com", "crd/wrongs.hostile.example.com")
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "hostile.example.com/v1", "kind": "Hostile", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"replicas": int64(1), hostile: map[string]any{"replicas": int64(1)}, "text": hostile, "list": []any{hostile}},
		"status": map[string]any{hostile: hostile, "conditions": []any{
			map[string]any{"type": hostile, "status": "False", "reason": hostile, "message": hostile},
			map[string]any{"type": "Ready", "status": "False", "reason": hostile, "message": hostile},
		}},
	}}
	hostiles := schema.GroupVersionResource{Group: "hostile.example.com", Version: "v1", Resource: "hostiles"}
	harness.Eventually(h.t, "the server takes objects of the new kind", func() bool {
		_, err := cluster.Dynamic.Resource(hostiles).Namespace(h.namespace).Create(h.t.Context(), obj, metav1.CreateOptions{})
		return err == nil
	})
}

// leases creates leases of two controllers that do not exist: one beside the test's
// controllers, and one that holds what another wants.
func (h *hostileObjects) leases() {
	_, held := leaserecord.Scope{Namespace: h.namespace, Selector: "app=held"}.Lease()
	for name, selector := range map[string]string{held: "app=held", "hostile": hostile} {
		lease := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"holderIdentity": hostile, "leaseDurationSeconds": int64(600),
			"renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "acquireTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		}}}
		lease.SetAPIVersion("coordination.k8s.io/v1")
		lease.SetKind("Lease")
		lease.SetName(name)
		lease.SetLabels(map[string]string{apis.LabelController: apis.RunController})
		lease.SetAnnotations(map[string]string{
			apis.AnnotationUser: hostile, apis.AnnotationHost: hostile, apis.AnnotationMachine: hostile, apis.AnnotationPID: "7",
			apis.AnnotationVersion: hostile, apis.AnnotationNamespace: h.namespace, apis.AnnotationSelector: selector,
		})
		if _, err := cluster.Dynamic.Resource(leases).Namespace(h.namespace).Create(h.t.Context(), lease, metav1.CreateOptions{}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// eventsOfLoop returns the messages of the events that controllers recorded on foo.
func (h *hostileObjects) eventsOfLoop() []string {
	h.t.Helper()
	cluster.StartRunController(h.t, h.namespace, "-l", "app=foo,!d") // the ones above may have ended before
	var messages []string
	harness.Eventually(h.t, "the loop records that a name is taken", func() bool {
		list, err := cluster.Core.Events(h.namespace).List(h.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(h.foo)})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, e := range list.Items {
			messages = append(messages, e.Message)
		}
		return len(messages) > 0
	})
	return messages
}

// hostileServer starts a proxy to the API server that refuses writes, adds a warning to
// each response and reports a hostile version. It returns a kubeconfig for it with
// hostile names.
func hostileServer(t *testing.T) string {
	t.Helper()
	proxy := cluster.ServerProxy(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "`+strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(hostile)+`"`)
		w.Header().Add("Warning", `299 - "w \u202eback `+"\u202e"+`"`)
		switch {
		case r.URL.Path == "/version":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"gitVersion": %s}`, inJSON(hostile))
		case r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "imoocpod"):
			proxy.ServeHTTP(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": %[1]s, "message": %[1]s, "details": {"kind": %[1]s, "name": %[1]s}}`, inJSON(hostile))
		}
	}))
	t.Cleanup(server.Close)
	name := strconv.QuoteToASCII(hostile)
	return harness.WriteFile(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: %[1]s,
  contexts: [{name: %[1]s, context: {cluster: %[1]s, user: %[1]s}}],
  clusters: [{name: %[1]s, cluster: {server: %[2]s}}], users: [{name: %[1]s, user: {}}]}`, name, server.URL))
}

// inJSON returns a text as a JSON string.
func inJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // impossible for a string
	}
	return string(data)
}
