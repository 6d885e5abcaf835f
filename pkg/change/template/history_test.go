package template

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// kindOf returns a kind that this program does not reconcile. A kind in a Kubernetes group is built in.
func kindOf(group, resource string) kinds.Kind {
	return kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Kind: resource, Singular: resource}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

// targetOf returns a target with an object. The name and the UID of the object are "web".
func targetOf(t *testing.T, kind kinds.Kind, text string) observe.Target {
	t.Helper()
	obj := parse(t, text)
	obj.SetName("web")
	obj.SetNamespace("ns")
	obj.SetUID("web")
	return observe.Target{Kind: kind, Namespace: "ns", Name: "web", Object: obj}
}

func serverOf(t *testing.T, objects ...*unstructured.Unstructured) (*apiserver.Server, dynamic.Interface) {
	t.Helper()
	s := apiserver.New(t)
	for _, obj := range objects {
		s.Create(obj)
	}
	client, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

// created is the creation time of all revisions. With an earlier time, a newer revision would seem to be reused.
const created = "2026-01-01T00:00:00Z"

func replicaSet(t *testing.T, revision, image, owner string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-%[1]s, namespace: ns, creationTimestamp: %[4]q, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: %[1]q},
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: %[3]s, controller: true}]},
		spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %[2]q}]}}}}`, revision, image, owner, created))
}

// controllerRevision returns a ControllerRevision of the object web. patch is the directive that apps/v1
// controllers add to the template, or "" for a revision from this program.
func controllerRevision(t *testing.T, revision int, image, patch string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: web-%[1]d, namespace: ns, creationTimestamp: %[5]q, labels: {app: web, %[3]s: web},
		ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: web, controller: true}]},
		revision: %[1]d, data: {spec: {image: %[2]s, template: {%[4]smetadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %[2]q}]}}}}}`, revision, image, apis.LabelOwner, patch, created))
}

const running = "spec: {image: %[1]s, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %[1]s}]}}}"

// History contains the revisions that an object controls. The kind determines which resources History lists.
func TestHistory(t *testing.T) {
	t.Parallel()
	replicaSets := []*unstructured.Unstructured{
		replicaSet(t, "9", "z", "another"), replicaSet(t, "1", "a", "web"), replicaSet(t, "none", "y", "web"),
		replicaSet(t, "3", "c", "web"), replicaSet(t, "2", "b", "web"),
	}
	const replace = "$patch: replace, "
	revisions := []*unstructured.Unstructured{controllerRevision(t, 2, "b", replace), controllerRevision(t, 1, "a", replace)}
	ours := []*unstructured.Unstructured{controllerRevision(t, 2, "b", ""), controllerRevision(t, 1, "a", "")}
	both := append(slices.Clone(replicaSets), controllerRevision(t, 4, "d", replace))
	for _, test := range []struct {
		what    string
		kind    kinds.Kind
		objects []*unstructured.Unstructured
		image   string
		want    string // the revisions, newest first, each with its change
		current int
		lists   string
	}{
		{"a Deployment", kindOf("apps", "deployments"), replicaSets, "c", "3 image b → c; 2 image a → b; 1 image a", 0, "replicasets app=web"},
		{"a changed Deployment", kindOf("apps", "deployments"), replicaSets, "d", "3 image b → c; 2 image a → b; 1 image a", -1, "replicasets app=web"},
		{"a Rollout", kindOf("argoproj.io", "rollouts"), replicaSets, "b", "3 image b → c; 2 image a → b; 1 image a", 1, "replicasets"},
		{"a StatefulSet", kindOf("apps", "statefulsets"), revisions, "a", "2 image a → b; 1 image a", 1, "controllerrevisions app=web"},
		{"an ImoocPod", kinds.ImoocPod(), ours, "b", "2 image a → b; 1 image a", 0, "controllerrevisions " + apis.LabelOwner + "=web"},
		{"an AppService", kinds.AppService(), ours, "b", "2 image a → b; 1 image a", 0, "controllerrevisions " + apis.LabelOwner + "=web"},
		{"an unknown kind", kindOf("example.com", "sets"), both, "d", "4 image c → d; 3 image b → c; 2 image a → b; 1 image a", 0, "controllerrevisions, replicasets"},
	} {
		s, client := serverOf(t, test.objects...)
		history, err := History(t.Context(), client, targetOf(t, test.kind, fmt.Sprintf(running, test.image)))
		var words []string
		for i, r := range history.Revisions {
			words = append(words, fmt.Sprint(r.Number, " ", history.Change(i)))
		}
		var lists []string
		for _, r := range s.Requests(nil) {
			lists = append(lists, strings.TrimSuffix(r.Resource+" "+r.Query.Get("labelSelector"), " "))
		}
		if got := strings.Join(words, "; "); err != nil || got != test.want || history.Current() != test.current || strings.Join(lists, ", ") != test.lists {
			t.Errorf("%s: %q, current %d, error %v; want %q, %d; lists %q, want %q", test.what, got, history.Current(), err, test.want, test.current, lists, test.lists)
		}
	}
}

// The newest revision determines which fields belong to the template, because older versions of the
// controller may have stored other fields.
func TestHistoryReadsFieldsOfNewestRevision(t *testing.T) {
	t.Parallel()
	older := controllerRevision(t, 1, "a", "")
	older.Object["data"] = parse(t, "spec: {pods: {$patch: replace, size: 1}}").Object
	for _, all := range [][]*unstructured.Unstructured{
		{older, controllerRevision(t, 2, "b", "$patch: replace, ")}, {controllerRevision(t, 2, "b", "$patch: replace, "), older},
	} {
		_, client := serverOf(t, all...)
		history, err := History(t.Context(), client, targetOf(t, kindOf("apps", "statefulsets"), fmt.Sprintf(running, "b")))
		if err != nil || len(history.Now) != 1 || history.Now[0].Path.String() != ".spec.template" || history.Current() != 0 {
			t.Errorf("history %+v, error %v; want only .spec.template, and the newest revision as the current one", history, err)
		}
	}
}

// The author and the cause of the current revision come from the object.
func TestHistoryNamesAuthorAndCause(t *testing.T) {
	t.Parallel()
	target := targetOf(t, kindOf("apps", "deployments"), fmt.Sprintf(running, "b"))
	target.Object.SetAnnotations(map[string]string{apis.AnnotationChangedBy: "alice", apis.AnnotationChangeCause: "faster"})
	_, client := serverOf(t, replicaSet(t, "1", "a", "web"), replicaSet(t, "2", "b", "web"))
	history, err := History(t.Context(), client, target)
	if err != nil || history.By(0) != "alice" || history.Change(0) != "image a → b: faster" || history.By(1) != "" {
		t.Errorf("history %+v, error %v; want the author and the cause of the object for the current revision only", history, err)
	}
	// Another client has patched the template since.
	at := func(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }
	target.Object.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl-imoocpod", Time: at(1), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + apis.AnnotationChangeCause + `":{}}}}`)},
		{Manager: "kubectl-patch", Time: at(2), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{"f:image":{}}}}}}}`)},
	})
	history, err = History(t.Context(), client, target)
	if err != nil || history.By(0) != "" || history.Change(0) != "image a → b" {
		t.Errorf("after another writer: author %q, change %q, error %v; want no author and only the difference", history.By(0), history.Change(0), err)
	}
}

func TestNoHistory(t *testing.T) {
	t.Parallel()
	s, client := serverOf(t)
	for _, test := range []struct {
		kind   kinds.Kind
		object string
		want   string
	}{
		{kindOf("apps", "deployments"), "spec: {revisionHistoryLimit: 0}", "its .spec.revisionHistoryLimit is 0"},
		{kinds.ImoocPod(), "spec: {revisionHistoryLimit: 0}", "its .spec.revisionHistoryLimit is 0"},
		{kindOf("apps", "deployments"), "spec: {revisionHistoryLimit: 2}", "its controller has not written a revision yet"},
		{kindOf("apps", "deployments"), "spec: {}", "its controller has not written a revision yet"},
		{kindOf("apps", "deployments"), "spec: {revisionHistoryLimit: none}", "its controller has not written a revision yet"},
		{kindOf("apps", "statefulsets"), "spec: {}", "its controller has not written a revision yet"},
		{kindOf("apps", "daemonsets"), "spec: {}", "its controller has not written a revision yet"},
		{kindOf("apps", "replicasets"), "spec: {}", "only Deployments, StatefulSets, and DaemonSets have revisions"},
		{kindOf("batch", "jobs"), "spec: {}", "only Deployments, StatefulSets, and DaemonSets have revisions"},
		{kinds.ImoocPod(), "spec: {}", "run-controller writes a revision when it reconciles the object, and has not done so yet"},
		{kindOf("example.com", "sets"), "spec: {}", "its controller keeps no ControllerRevisions and no numbered ReplicaSets"},
	} {
		_, err := History(t.Context(), client, targetOf(t, test.kind, test.object))
		if err == nil || !strings.HasSuffix(err.Error(), "/web has no history: "+test.want) {
			t.Errorf("%s, %s: error %v, want suffix %q", test.kind, test.object, err, test.want)
		}
	}
	clusterwide := targetOf(t, kindOf("example.com", "sets"), "{}")
	clusterwide.Namespace = ""
	s.Forget()
	if _, err := History(t.Context(), client, clusterwide); err == nil || !strings.Contains(err.Error(), "kept in namespaces") || len(s.Requests(nil)) > 0 {
		t.Errorf("cluster-scoped object: error %v after the requests %v, want an error without requests", err, s.Requests(nil))
	}
}

// The error names the object if its revisions cannot be listed or its fields cannot be read.
func TestHistoryReadErrors(t *testing.T) {
	t.Parallel()
	s, client := serverOf(t, replicaSet(t, "1", "a", "web"))
	_, err := History(t.Context(), client, targetOf(t, kindOf("argoproj.io", "rollouts"), "spec: odd"))
	if err == nil || !strings.HasPrefix(err.Error(), "rollouts/web: ") {
		t.Errorf("object with an invalid spec: error %v", err)
	}
	s.Fail(apiserver.On("list", "replicasets"), apiserver.Fault{Err: apierrors.NewServiceUnavailable("the server is away")})
	_, err = History(t.Context(), client, targetOf(t, kindOf("apps", "deployments"), "{}"))
	if err == nil || err.Error() != "read the replicasets of deployments/web: the server is away" {
		t.Errorf("failed list of ReplicaSets: error %v", err)
	}
}

// selector returns a label selector only if it matches all revisions of the object.
func TestSelector(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   kinds.Kind
		object string
		want   string
	}{
		{kinds.ImoocPod(), "spec: {selector: {matchLabels: {app: web}}}", apis.LabelOwner + "=web"},
		{kindOf("apps", "deployments"), "spec: {selector: {matchLabels: {app: web}}}", "app=web"},
		{kindOf("apps", "deployments"), "spec: {selector: {matchExpressions: [{key: app, operator: Exists}]}}", "app"},
		{kindOf("apps", "deployments"), "spec: {selector: {matchExpressions: [{key: app, operator: Near}]}}", ""},
		{kindOf("apps", "deployments"), "spec: {selector: {matchLabels: odd}}", ""},
		{kindOf("apps", "deployments"), "spec: {selector: odd}", ""},
		{kindOf("apps", "deployments"), "spec: {}", ""},
		{kindOf("example.com", "sets"), "spec: {selector: {matchLabels: {app: web}}}", ""},
	} {
		if got := selector(targetOf(t, test.kind, test.object)); got != test.want {
			t.Errorf("selector of %s, %s = %q, want %q", test.kind, test.object, got, test.want)
		}
	}
}
