package apiserver_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// The tests in this file check only rules of the server that no test of a command or the controller relies on.

func clientOf(t *testing.T, s *apiserver.Server, resource schema.GroupVersionResource) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(resource).Namespace(metav1.NamespaceDefault)
}

// managers returns the manager, operation, and subresource of each managed fields entry, sorted.
func managers(obj *unstructured.Unstructured) []string {
	var all []string
	for _, entry := range obj.GetManagedFields() {
		all = append(all, fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource))
	}
	slices.Sort(all)
	return all
}

// TestWrites checks which fields each kind of write can change, and that the field manager is recorded.
func TestWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, subresource string
		patch             types.PatchType
		body              string
		force             bool
		generation        int64
		replicas, ready   int64
		manager           string
		wrong             func(error) bool
	}{
		{name: "JSON, failed test", patch: types.JSONPatchType, body: `[{"op":"test","path":"/spec/replicas","value":4}]`, wrong: apierrors.IsInvalid},
		{name: "apply, conflict", patch: types.ApplyPatchType, body: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":5}}`, wrong: apierrors.IsConflict},
		{name: "apply, forced", patch: types.ApplyPatchType, body: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":5}}`, force: true, generation: 2, replicas: 5, manager: "a Apply "},
		{name: "no change", patch: types.MergePatchType, body: `{"spec":{"replicas":3}}`, generation: 1, replicas: 3},
		{name: "a label", patch: types.MergePatchType, body: `{"metadata":{"labels":{"a":"b"}}}`, generation: 1, replicas: 3, manager: "a Update "},
		{name: "status without its subresource", patch: types.MergePatchType, body: `{"status":{"readyReplicas":2}}`, generation: 1, replicas: 3},
		{name: "status", subresource: "status", patch: types.MergePatchType, body: `{"spec":{"replicas":9},"status":{"readyReplicas":2}}`, generation: 1, replicas: 3, ready: 2, manager: "a Update status"},
		{name: "scale", subresource: "scale", patch: types.MergePatchType, body: `{"spec":{"replicas":5}}`, generation: 2, replicas: 5, manager: "a Update scale"},
		{name: "another UID", patch: types.MergePatchType, body: `{"metadata":{"uid":"1"}}`, wrong: apierrors.IsConflict},
		{name: "negative replicas", patch: types.MergePatchType, body: `{"spec":{"replicas":-1}}`, wrong: apierrors.IsInvalid},
		{name: "replicas is not a number", patch: types.MergePatchType, body: `{"spec":{"replicas":"x"}}`, wrong: apierrors.IsBadRequest},
		{name: "unsupported patch type", patch: "text/plain", body: `x`, wrong: apierrors.IsUnsupportedMediaType},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := apiserver.New(t)
			s.CreateYAML(deployment("web", "example.com/web:1", 3))
			var sub []string
			if test.subresource != "" {
				sub = append(sub, test.subresource)
			}
			opts := metav1.PatchOptions{FieldManager: "a"}
			if test.force {
				opts.Force = new(true)
			}
			before := s.Get("deploy", "default", "web")
			_, err := clientOf(t, s, appsv1.SchemeGroupVersion.WithResource("deployments")).Patch(t.Context(), "web", test.patch, []byte(test.body), opts, sub...)
			after := s.Get("deploy", "default", "web")
			if test.wrong != nil {
				if !test.wrong(err) || after.GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("wrong error %v, or a write: resourceVersion %s, was %s", err, after.GetResourceVersion(), before.GetResourceVersion())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			replicas, _, _ := unstructured.NestedInt64(after.Object, "spec", "replicas")
			ready, _, _ := unstructured.NestedInt64(after.Object, "status", "readyReplicas")
			if after.GetGeneration() != test.generation || replicas != test.replicas || ready != test.ready {
				t.Errorf("generation/replicas/ready %d/%d/%d, want %d/%d/%d", after.GetGeneration(), replicas, ready, test.generation, test.replicas, test.ready)
			}
			if by := managers(after); test.manager != "" && !slices.Contains(by, test.manager) || test.manager == "" && len(by) != 1 {
				t.Errorf("got managers %q, want %q among them (none: only the creator)", by, test.manager)
			}
		})
	}
}

// TestStatusOfNewObject checks that a create does not set the status.
func TestStatusOfNewObject(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	pvc := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "a"}, "status": map[string]any{"phase": "Bound"},
	}}
	created, err := clientOf(t, s, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")).Create(t.Context(), pvc, metav1.CreateOptions{})
	if err != nil || created.Object["status"] != nil {
		t.Errorf("got object %v, error %v, want no status", created, err)
	}
}

// TestExpiredRevisions checks that later pages of a list do not show newer changes, that pages and revisions expire,
// and that a list rejects an unsupported field selector.
func TestExpiredRevisions(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	for i := range 5 {
		s.CreateYAML(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d}}", i))
	}
	client := clientOf(t, s, corev1.SchemeGroupVersion.WithResource("pods"))
	first, err := client.List(t.Context(), metav1.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.Delete("pods", "default", "p3")
	second, err := client.List(t.Context(), metav1.ListOptions{Limit: 3, Continue: first.GetContinue()})
	if err != nil || len(first.Items) != 2 || len(second.Items) != 3 || second.GetContinue() != "" {
		t.Errorf("got pages %v and %v, error %v, want 2 and 3 objects, and no more pages", first, second, err)
	}
	s.Expire()
	if _, err := client.List(t.Context(), metav1.ListOptions{Continue: first.GetContinue()}); !apierrors.IsResourceExpired(err) {
		t.Errorf("list of an expired page: got error %v, want expired", err)
	}
	if _, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("watch from an expired revision: got error %v, want expired", err)
	}
	if _, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.image=a"}); !apierrors.IsBadRequest(err) {
		t.Errorf("unsupported field selector: got error %v, want a bad request", err)
	}
}

// TestDeletes checks that a delete with another UID is a conflict, that a broken connection prevents a delete or
// only its response, and that the dependents of a deleted object are deleted.
func TestDeletes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		uid   types.UID
		fault apiserver.Fault
		wrong func(error) bool
		left  int
	}{
		{"1", apiserver.Fault{}, func(err error) bool { return err != nil }, 0},
		{"2", apiserver.Fault{}, func(err error) bool { return !apierrors.IsConflict(err) }, 2},
		{"1", apiserver.Fault{Drop: true}, func(err error) bool { return !errors.Is(err, io.ErrUnexpectedEOF) }, 2},
		{"1", apiserver.Fault{DropAfter: true}, func(err error) bool { return !errors.Is(err, io.ErrUnexpectedEOF) }, 0},
	} {
		s := apiserver.New(t)
		s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, uid: '1'}}")
		s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: dependent, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: '1'}]}}")
		s.Fail(apiserver.On("delete", "configmaps"), test.fault)
		client := clientOf(t, s, corev1.SchemeGroupVersion.WithResource("configmaps"))
		err := client.Delete(t.Context(), "owner", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &test.uid}})
		if left := len(s.List("configmaps", "")); test.wrong(err) || left != test.left {
			t.Errorf("delete with UID %s and %+v: got error %v, %d objects left, want %d", test.uid, test.fault, err, left, test.left)
		}
	}
}
