package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// fieldsText returns fields of an object as JSON for byte-by-byte comparison.
func fieldsText(t *testing.T, obj *unstructured.Unstructured, paths ...string) string {
	t.Helper()
	fields := map[string]any{}
	for _, path := range paths {
		value, _, err := unstructured.NestedFieldCopy(obj.Object, strings.Split(path, ".")...)
		if err != nil {
			t.Fatal(err)
		}
		fields[path] = value
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// stored returns an object from the server.
func stored(t *testing.T, ns string, kind kinds.Kind, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := cluster.Dynamic.Resource(kind.Resource).Namespace(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// From A to B and back: the pod template is template A again, and a count set in the meantime
// is kept.
func TestUndoOfWorkloads(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	cluster.CreateObject(t, ns, "statefulsets.apps", workload("StatefulSet", "db", 2))
	cluster.CreateObject(t, ns, "daemonsets.apps", strings.Replace(workload("DaemonSet", "agent", 0), "replicas: 0, ", "", 1))
	for _, w := range []struct{ kind, name string }{{"deployment", "web"}, {"statefulset", "db"}, {"daemonset", "agent"}} {
		target, resource := w.kind+"/"+w.name, w.kind+"s.apps"
		cluster.Imoocpod(t, ns, "wait", target, "--timeout", "5m")
		a := cluster.Object(t, ns, resource, w.name)

		r := cluster.Kubectl(t, ns, "imoocpod", "undo", target)
		if want := fmt.Sprintf("error: %s cannot be undone: it has no earlier revision\nhint: kubectl imoocpod history %s.apps/%s -n %s\n", target, w.kind+"s", w.name, ns); r.Code != harness.ExitError || r.Stderr != want {
			t.Errorf("undo without a history: exit code %d, said %q, want %q", r.Code, r.Stderr, want)
		}

		r = cluster.Kubectl(t, ns, "imoocpod", "set", "image", target, "web:2", "--wait", "--timeout", "5m")
		if harness.Must(t, r) != w.kind+".apps/"+w.name+" image updated\n" || !strings.HasPrefix(r.Stderr, target+": image web → web:2\n") {
			t.Errorf("set image printed %q, said %q", r.Stdout, r.Stderr)
		}
		for _, pod := range statusOf(t, ns, target).Pods {
			if image := harness.Must(t, cluster.Kubectl(t, ns, "get", "pod", pod.Name, "-o", "jsonpath={.spec.containers[0].image}")); image != "web:2" {
				t.Errorf("%s is ready, and %s runs %s", target, pod.Name, image)
			}
		}
		if w.kind != "daemonset" {
			cluster.Imoocpod(t, ns, "scale", target, "--replicas", "3", "--timeout", "5m")
		}
		b := cluster.Object(t, ns, resource, w.name)

		lines := strings.Split(cluster.Imoocpod(t, ns, "history", target), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "REVISION") || !strings.HasSuffix(lines[1], "image web → web:2") || !strings.HasSuffix(lines[2], "image web") || strings.Contains(lines[1], "<unknown>") {
			t.Errorf("the history of %s is\n%s", target, strings.Join(lines, "\n"))
		}

		r = cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--dry-run=server")
		if want := w.kind + ".apps/" + w.name + " undone (server dry run)\n"; harness.Must(t, r) != want || !strings.Contains(r.Stderr, "-      - image: web:2\n+      - image: web\n") {
			t.Errorf("the dry run printed %q, said %q, want %q", r.Stdout, r.Stderr, want)
		}
		if now := cluster.Object(t, ns, resource, w.name); now.GetGeneration() != b.GetGeneration() {
			t.Errorf("the dry run changed %s", target)
		}

		r = cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--wait", "--timeout", "5m")
		if harness.Must(t, r) != w.kind+".apps/"+w.name+" undone\n" || !strings.HasPrefix(r.Stderr, target+": image web:2 → web\n") {
			t.Errorf("undo printed %q, said %q", r.Stdout, r.Stderr)
		}
		undone := cluster.Object(t, ns, resource, w.name)
		if got, want := fieldsText(t, undone, "spec.template"), fieldsText(t, a, "spec.template"); got != want {
			t.Errorf("%s has the template %s, want %s", target, got, want)
		}
		if got, want := fieldsText(t, undone, "spec.replicas", "metadata.labels", "spec.selector"), fieldsText(t, b, "spec.replicas", "metadata.labels", "spec.selector"); got != want {
			t.Errorf("%s has %s beside the template, want %s", target, got, want)
		}
		if cause := undone.GetAnnotations()["kubernetes.io/change-cause"]; cause != "undo of 2" {
			t.Errorf("the change cause of %s is %q", target, cause)
		}
		if lines = strings.Split(cluster.Imoocpod(t, ns, "history", target), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "3 ") || !strings.HasSuffix(lines[1], "undo of 2") {
			t.Errorf("after the undo, the history of %s is\n%s", target, strings.Join(lines, "\n"))
		}
		diff := cluster.Imoocpod(t, ns, "history", target, "--diff", "2..3")
		if !strings.HasPrefix(diff, "--- "+target+" revision 2\n+++ "+target+" revision 3\n@@ ") || !strings.Contains(diff, "\n-      - image: web:2\n+      - image: web\n") {
			t.Errorf("the difference is\n%s", diff)
		}
		if template := cluster.Imoocpod(t, ns, "history", target, "--revision", "2"); !strings.Contains(template, "image: web:2\n") {
			t.Errorf("revision 2 is\n%s", template)
		}

		// An undo to the current revision changes nothing and reports that.
		r = cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--to-revision", "3")
		if want := target + " is already at revision 3: nothing to undo\n"; harness.Must(t, r) != "" || r.Stderr != want {
			t.Errorf("undo to the current revision printed %q, said %q, want %q", r.Stdout, r.Stderr, want)
		}
		if now := cluster.Object(t, ns, resource, w.name); now.GetGeneration() != undone.GetGeneration() {
			t.Errorf("undo to the current revision changed %s", target)
		}
		r = cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--to-revision", "7")
		if r.Code != harness.ExitError || !strings.Contains(r.Stderr, "unable to find revision 7 in its history: it has 3, 2") {
			t.Errorf("undo to a missing revision: exit code %d, said %q", r.Code, r.Stderr)
		}
	}

	harness.Must(t, cluster.Kubectl(t, ns, "rollout", "pause", "deployment/web"))
	if r := cluster.Kubectl(t, ns, "imoocpod", "undo", "deployment/web"); r.Code != harness.ExitError || r.Stderr != "error: deployment/web cannot be undone: it is paused\nhint: to resume it: kubectl imoocpod resume deployments.apps/web -n "+ns+"\n" {
		t.Errorf("undo of a paused Deployment: exit code %d, said %q", r.Code, r.Stderr)
	}
}

// writtenRevision creates a revision of an object, as the controller of its kind does.
// An existing revision of the same fields gets the new number.
func writtenRevision(t *testing.T, ns string, owner *unstructured.Unstructured, name string, number int64, labels map[string]string, data string) {
	t.Helper()
	obj := harness.Parse(t, "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: "+name+"}}")
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	obj.SetLabels(labels)
	annotations := map[string]string{}
	for _, key := range []string{"kubernetes.io/change-cause", "imoocpod.dev/changed-by"} {
		if value := owner.GetAnnotations()[key]; value != "" {
			annotations[key] = value
		}
	}
	obj.SetAnnotations(annotations)
	obj.Object["revision"] = number
	var fields map[string]any
	if err := json.Unmarshal([]byte(data), &fields); err != nil {
		t.Fatal(err)
	}
	obj.Object["data"] = fields
	if _, err := cluster.Dynamic.Resource(harness.Resource("controllerrevisions.apps")).Namespace(ns).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Our own kinds, with revisions as run-controller writes them.
func TestUndoOfOurKinds(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.MyDaemonSet(), kinds.AppService()} {
		target := kind.Singular + "/foo"
		cluster.Imoocpod(t, ns, "create", target, "--image", "web", "--reason", "the first")
		keep := func(number int64) *unstructured.Unstructured {
			obj := stored(t, ns, kind, "foo")
			data, err := kinds.RevisionData(kind, obj)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			writtenRevision(t, ns, obj, fmt.Sprintf("%s-foo-%d", kind.Singular, number), number, map[string]string{"imoocpod.dev/owner-uid": string(obj.GetUID())}, string(text))
			return obj
		}
		r := cluster.Kubectl(t, ns, "imoocpod", "history", target)
		if r.Code != harness.ExitError || !strings.Contains(r.Stderr, target+" has no history: run-controller writes a revision when it reconciles the object") {
			t.Errorf("without revisions: exit code %d, said %q", r.Code, r.Stderr)
		}
		a := keep(1)
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "set", "image", target, "web:2", "--reason", "try the new web"))
		keep(2)
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "restart", target))
		keep(3)
		history := cluster.Imoocpod(t, ns, "history", target)
		lines := strings.Split(history, "\n")
		if len(lines) != 5 || !strings.HasSuffix(lines[1], " restarted") || !strings.HasSuffix(lines[2], " try the new web") || !strings.HasSuffix(lines[3], " the first") || strings.Contains(history, "unknown") {
			t.Errorf("the history is\n%s", history)
		}
		r = cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--to-revision", "1")
		harness.Must(t, r)
		if want := target + ": image web:2 → web, restarted\n"; !strings.HasPrefix(r.Stderr, want) {
			t.Errorf("undo said %q, want %q", r.Stderr, want)
		}
		undone := stored(t, ns, kind, "foo")
		if got, want := fieldsText(t, undone, "spec"), fieldsText(t, a, "spec"); got != want {
			t.Errorf("%s has the spec %s, want %s", target, got, want)
		}
		annotations := undone.GetAnnotations()
		if annotations["kubectl.kubernetes.io/restartedAt"] != "" || annotations["kubernetes.io/change-cause"] != "undo to 1" || annotations["imoocpod.dev/changed-by"] == "" {
			t.Errorf("%s has the annotations %v", target, annotations)
		}
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "history", "foo", "-o", "json")
	var list struct {
		Revisions []struct {
			Revision int64
			Current  bool
		}
	}
	if err := json.Unmarshal([]byte(harness.Must(t, r)), &list); err != nil || len(list.Revisions) != 3 || list.Revisions[0].Revision != 3 || !list.Revisions[2].Current {
		t.Errorf("%v: the history in JSON is %s", err, r.Stdout)
	}
}

// setLikeCRD is a kind whose controller keeps revisions as a CloneSet does.
const setLikeCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: herds.undo.example.com}
spec:
  group: undo.example.com
  names: {kind: Herd, plural: herds, singular: herd}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, template: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
`

func TestUndoOfAnotherKind(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, "", setLikeCRD)
	cluster.AwaitEstablished(t, "crd/herds.undo.example.com")
	cluster.Apply(t, ns, "{apiVersion: undo.example.com/v1, kind: Herd, metadata: {name: sheep}, spec: {replicas: 3, template: "+somePod+"}}")
	r := cluster.Kubectl(t, ns, "imoocpod", "undo", "herd/sheep")
	if want := "error: herd/sheep has no history: its controller keeps no ControllerRevisions and no numbered ReplicaSets\n"; r.Code != harness.ExitError || r.Stderr != want {
		t.Errorf("exit code %d, said %q, want %q", r.Code, r.Stderr, want)
	}
	a := cluster.Object(t, ns, "herds.undo.example.com", "sheep")
	data := func(image string) string {
		return `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"},"annotations":{"note":"mine"}},"spec":{"containers":[{"name":"main","image":"` + image + `","resources":{}}]}}}}`
	}
	writtenRevision(t, ns, a, "sheep-1", 1, map[string]string{"controller-revision-hash": "1"}, data("web"))
	cluster.Imoocpod(t, ns, "set", "image", "herd/sheep", "main=web:2")
	writtenRevision(t, ns, cluster.Object(t, ns, "herds.undo.example.com", "sheep"), "sheep-2", 2, map[string]string{"controller-revision-hash": "2"}, data("web:2"))
	if r = cluster.Kubectl(t, ns, "imoocpod", "undo", "herd/sheep"); harness.Must(t, r) != "herd.undo.example.com/sheep undone\n" || r.Stderr != "herd/sheep: image web:2 → web\n" {
		t.Errorf("undo printed %q, said %q", r.Stdout, r.Stderr)
	}
	if got, want := fieldsText(t, cluster.Object(t, ns, "herds.undo.example.com", "sheep"), "spec"), fieldsText(t, a, "spec"); got != want {
		t.Errorf("the spec is %s, want %s", got, want)
	}
	// The manager of the field is named.
	cluster.Apply(t, ns, "{apiVersion: undo.example.com/v1, kind: Herd, metadata: {name: sheep, labels: {app.kubernetes.io/managed-by: Helm}}, spec: {replicas: 3, template: "+somePod+"}}")
	if r = cluster.Kubectl(t, ns, "imoocpod", "undo", "herd/sheep"); !strings.Contains(r.Stderr, "Warning: herd/sheep: Helm manages .spec.template, and its next run restores the old value\n") {
		t.Errorf("undo said %q", r.Stderr)
	}
}

// A new image that cannot be pulled is reverted, and the old pods keep running.
func TestUndoOnFailure(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2", "--image", "web", "--wait")
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	deployment := kinds.Kind{Resource: harness.Resource("deployments.apps")}
	for target, kind := range map[string]kinds.Kind{"deployment/web": deployment, "imoocpod/foo": kinds.ImoocPod()} {
		_, name, _ := strings.Cut(target, "/")
		before := stored(t, ns, kind, name)
		r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", target, "no-such-image", "--on-failure=revert", "--fail-after", "0", "--timeout", "5m")
		if r.Code != harness.ExitUndone || !strings.Contains(r.Stderr, target+": image web → no-such-image\n") ||
			!strings.Contains(r.Stderr, "error: "+target+" has failed: ") || !strings.Contains(r.Stderr, "\n"+target+" undone: image no-such-image → web\n") {
			t.Errorf("%s: exit code %d, said %q", target, r.Code, r.Stderr)
		}
		after := stored(t, ns, kind, name)
		if got, want := fieldsText(t, after, "spec"), fieldsText(t, before, "spec"); got != want {
			t.Errorf("%s has the spec %s, want %s", target, got, want)
		}
		if cause := after.GetAnnotations()["kubernetes.io/change-cause"]; cause != "undo of image web → no-such-image" {
			t.Errorf("the change cause of %s is %q", target, cause)
		}
		cluster.Imoocpod(t, ns, "wait", target, "--timeout", "5m")
	}
}

// A wait for a new image ends when all pods run it, whatever the strategy.
func TestSetWaits(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.MyDaemonSet()} {
		target := kind.Singular + "/foo"
		cluster.Imoocpod(t, ns, "create", target, "--image", "web", "--wait", "--timeout", "5m")
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "set", "image", target, "web:2", "--wait", "--timeout", "5m"))
		pods := statusOf(t, ns, target).Pods
		for _, pod := range pods {
			image := harness.Must(t, cluster.Kubectl(t, ns, "get", "pod", pod.Name, "-o", "jsonpath={.spec.containers[0].image}"))
			if image != "web:2" {
				t.Errorf("%s is ready, and pod %s runs %s", target, pod.Name, image)
			}
		}
		if len(pods) == 0 {
			t.Errorf("%s has no pods", target)
		}
		r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", target, "web:2", "--wait", "--timeout", "5m")
		if harness.Must(t, r) != "" || strings.Contains(r.Stderr, "→") {
			t.Errorf("the same image again printed %q, said %q", r.Stdout, r.Stderr)
		}
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", "helloworld/hi", "web")
	if r.Code != harness.ExitNotFound {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "create", "helloworld/hi", "--replicas", "0")
	r = cluster.Kubectl(t, ns, "imoocpod", "set", "image", "helloworld/hi", "web")
	if r.Code != harness.ExitError || !strings.Contains(r.Stderr, "helloworld/hi has no field for an image: its pods run nginx") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
}

// A change made by another writer in the meantime is not reverted.
func TestUndoOnFailureLeavesOthers(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 1))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	w := cluster.StartPlugin(t, "set", "image", "deployment/web", "-n", ns, "no-such-image", "--on-failure=revert", "--fail-after", "5s", "--timeout", "5m")
	w.AwaitOutput("image web → no-such-image")
	harness.Must(t, cluster.Kubectl(t, ns, "set", "env", "deployment/web", "BY=another"))
	if code := w.Wait(); code != harness.ExitUndone {
		t.Errorf("exit code %d, want %d", code, harness.ExitUndone)
	}
	if template := fieldsText(t, cluster.Object(t, ns, "deployments.apps", "web"), "spec.template"); strings.Contains(template, "no-such-image") || !strings.Contains(template, "another") {
		t.Errorf("the template is %s", template)
	}
}

// A StatefulSet waits for a broken pod even if a new template would fix it; the message
// has the command to unblock it.
func TestUndoOfABrokenStatefulSet(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "statefulsets.apps", workload("StatefulSet", "db", 2))
	cluster.Imoocpod(t, ns, "wait", "statefulset/db", "--timeout", "5m")
	r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", "statefulset/db", "no-such-image", "--on-failure=revert", "--fail-after", "0", "--timeout", "5m")
	hint := "hint: the pod template has changed, but a StatefulSet waits for pods that are not ready before it replaces them; to replace them: kubectl delete pod db-1 -n " + ns + "\n"
	if r.Code != harness.ExitUndone || !strings.HasSuffix(r.Stderr, "\nstatefulset/db undone: image no-such-image → web\n"+hint) {
		t.Errorf("exit code %d, said %q, want the hint %q", r.Code, r.Stderr, hint)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", "db-1"))
	cluster.Imoocpod(t, ns, "wait", "statefulset/db", "--timeout", "5m")
}

// Another writer changes the object between the read and the write: its count is kept,
// and its pod template is not mistaken for the one that was read.
func TestUndoMeetsASecondWriter(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 1))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	cluster.Imoocpod(t, ns, "set", "image", "deployment/web", "web:2", "--wait", "--timeout", "5m")
	web := cluster.Dynamic.Resource(harness.Resource("deployments.apps")).Namespace(ns)
	for _, row := range []struct {
		patch string
		code  int
		image string
	}{
		{`{"spec":{"replicas":3}}`, 0, "web"},
		{`{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":1}}}}`, harness.ExitPrecondition, "web:2"},
	} {
		if image := podImage(t, ns); image != "web:2" {
			cluster.Imoocpod(t, ns, "set", "image", "deployment/web", "web:2", "--wait", "--timeout", "5m")
		}
		proxy := cluster.ServerProxy(t)
		ctx := t.Context()
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				once.Do(func() {
					if _, err := web.Patch(ctx, "web", types.StrategicMergePatchType, []byte(row.patch), metav1.PatchOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			proxy.ServeHTTP(w, r)
		}))
		r := cluster.Kubectl(t, ns, "imoocpod", "undo", "deployment/web", "--server", server.URL)
		server.Close()
		if r.Code != row.code || podImage(t, ns) != row.image {
			t.Errorf("after %s: exit code %d, said %q, and the image is %s", row.patch, r.Code, r.Stderr, podImage(t, ns))
		}
		if n, _, err := unstructured.NestedInt64(cluster.Object(t, ns, "deployments.apps", "web").Object, "spec", "replicas"); err != nil || n != 3 {
			t.Errorf("after %s: %d replicas, %v", row.patch, n, err)
		}
	}
}

func podImage(t *testing.T, ns string) string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(cluster.Object(t, ns, "deployments.apps", "web").Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatal(err, containers)
	}
	c, _ := containers[0].(map[string]any)
	return fmt.Sprint(c["image"])
}

// With a running controller, a change and its undo roll out, and the history has both
// templates, with the first as the newest again.
func TestUndoWithTheController(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.MyDaemonSet()} {
		target := kind.Singular + "/foo"
		create := []string{"create", target, "--image", "web", "--wait", "--timeout", "2m"}
		if kind.ReplicasPath != nil {
			create = append(create, "--replicas", "3")
		}
		cluster.Imoocpod(t, ns, create...)
		before := fieldsText(t, stored(t, ns, kind, "foo"), "spec")
		cluster.Imoocpod(t, ns, "set", "image", target, "web:2", "--wait", "--timeout", "2m")
		cluster.Imoocpod(t, ns, "undo", target, "--wait", "--timeout", "2m")
		if after := fieldsText(t, stored(t, ns, kind, "foo"), "spec"); after != before {
			t.Errorf("%s has the spec %s after the undo, want %s", target, after, before)
		}
		history := cluster.Imoocpod(t, ns, "history", target)
		lines := strings.Split(strings.TrimSpace(history), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "3 ") || !strings.HasPrefix(lines[2], "2 ") {
			t.Errorf("the history of %s is\n%s", target, history)
		}
	}
	// The only field to change in a HelloWorld is the time of its restart.
	cluster.Imoocpod(t, ns, "create", "helloworld/hi", "--replicas", "2", "--timeout", "2m")
	cluster.Imoocpod(t, ns, "restart", "helloworld/hi", "--timeout", "2m")
	cluster.Imoocpod(t, ns, "undo", "helloworld/hi", "--timeout", "2m")
	if at := stored(t, ns, kinds.HelloWorld(), "hi").GetAnnotations()["kubectl.kubernetes.io/restartedAt"]; at != "" {
		t.Errorf("after the undo of a restart it is as restarted at %s", at)
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", "foo", "no-such-image", "--on-failure=revert", "--fail-after", "1s", "--timeout", "2m")
	if r.Code != harness.ExitUndone || !strings.Contains(r.Stderr, "imoocpod/foo undone: image no-such-image → web") {
		t.Errorf("%s: exit code %d, said %s", r.Line, r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "wait", "foo", "--timeout", "2m")
}
