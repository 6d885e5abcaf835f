package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
	configMaps  = corev1.SchemeGroupVersion.WithResource("configmaps")
)

func clientOf(t *testing.T, s *apiserver.Server) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
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

// TestWrites checks which fields each kind of write can change, and that the field manager is
// recorded.
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
		{name: "merge", patch: types.MergePatchType, body: `{"spec":{"replicas":5}}`, generation: 2, replicas: 5, manager: "a Update "},
		{name: "JSON", patch: types.JSONPatchType, body: `[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":5}]`, generation: 2, replicas: 5, manager: "a Update "},
		{name: "JSON, failed test", patch: types.JSONPatchType, body: `[{"op":"test","path":"/spec/replicas","value":4}]`, wrong: apierrors.IsInvalid},
		{name: "apply, conflict", patch: types.ApplyPatchType, body: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":5}}`, wrong: apierrors.IsConflict},
		{name: "apply, forced", patch: types.ApplyPatchType, body: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":5}}`, force: true, generation: 2, replicas: 5, manager: "a Apply "},
		{name: "nothing new", patch: types.MergePatchType, body: `{"spec":{"replicas":3}}`, generation: 1, replicas: 3},
		{name: "a label", patch: types.MergePatchType, body: `{"metadata":{"labels":{"a":"b"}}}`, generation: 1, replicas: 3, manager: "a Update "},
		{name: "status past its subresource", patch: types.MergePatchType, body: `{"status":{"readyReplicas":2}}`, generation: 1, replicas: 3},
		{name: "status", subresource: "status", patch: types.MergePatchType, body: `{"spec":{"replicas":9},"status":{"readyReplicas":2}}`, generation: 1, replicas: 3, ready: 2, manager: "a Update status"},
		{name: "scale", subresource: "scale", patch: types.MergePatchType, body: `{"spec":{"replicas":5}}`, generation: 2, replicas: 5, manager: "a Update scale"},
		{name: "another revision", patch: types.MergePatchType, body: `{"metadata":{"resourceVersion":"1"}}`, wrong: apierrors.IsConflict},
		{name: "another UID", patch: types.MergePatchType, body: `{"metadata":{"uid":"1"}}`, wrong: apierrors.IsConflict},
		{name: "too few", patch: types.MergePatchType, body: `{"spec":{"replicas":-1}}`, wrong: apierrors.IsInvalid},
		{name: "no number", patch: types.MergePatchType, body: `{"spec":{"replicas":"x"}}`, wrong: apierrors.IsBadRequest},
		{name: "an unknown patch", patch: "text/plain", body: `x`, wrong: apierrors.IsUnsupportedMediaType},
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
			_, err := clientOf(t, s).Resource(deployments).Namespace("default").Patch(t.Context(), "web", test.patch, []byte(test.body), opts, sub...)
			after := s.Get("deploy", "default", "web")
			if test.wrong != nil {
				if !test.wrong(err) || after.GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("got error %v, revision %s, previous revision %s", err, after.GetResourceVersion(), before.GetResourceVersion())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			replicas, _, _ := unstructured.NestedInt64(after.Object, "spec", "replicas")
			ready, _, _ := unstructured.NestedInt64(after.Object, "status", "readyReplicas")
			if after.GetGeneration() != test.generation || replicas != test.replicas || ready != test.ready {
				t.Errorf("generation %d, %d replicas, %d ready", after.GetGeneration(), replicas, ready)
			}
			if by := managers(after); test.manager != "" && !slices.Contains(by, test.manager) || test.manager == "" && len(by) != 1 {
				t.Errorf("got managers %q", by)
			}
		})
	}
}

// TestCustomTypes checks that a custom type has the fields, defaults, rules, and subresources in its CRD.
func TestCustomTypes(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	s.CreateCRDs()
	client := clientOf(t, s).Resource(kinds.ImoocPod().Resource).Namespace("default")
	create := func(text string) (*unstructured.Unstructured, error) {
		return client.Create(t.Context(), parse(t, "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, "+text+"}"), metav1.CreateOptions{})
	}
	if _, err := create("spec: {replicas: -1}"); !apierrors.IsInvalid(err) {
		t.Errorf("negative replicas: got error %v", err)
	}
	foo, err := create("spec: {}, status: {replicas: 7}, other: 1")
	if err != nil {
		t.Fatal(err)
	}
	image, _, _ := unstructured.NestedSlice(foo.Object, "spec", "template", "spec", "containers")
	if replicas, _, _ := unstructured.NestedInt64(foo.Object, "spec", "replicas"); replicas != 1 || len(image) != 1 || foo.Object["status"] != nil || foo.Object["other"] != nil {
		t.Errorf("got object %v", foo.Object)
	}
	scale, err := client.Get(t.Context(), "foo", metav1.GetOptions{}, "scale")
	if err != nil || scale.GetKind() != "Scale" {
		t.Errorf("got scale %v, error %v", scale, err)
	}
	for range 2 {
		foo, err = client.Apply(t.Context(), "foo", parse(t, "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, status: {conditions: [{type: Ready, status: 'True', reason: A, message: '', lastTransitionTime: '2020-01-01T00:00:00Z'}]}}"),
			metav1.ApplyOptions{FieldManager: "loop"}, "status")
	}
	if err != nil || !slices.Contains(managers(foo), "loop Apply status") || foo.GetGeneration() != 1 {
		t.Errorf("got managers %q, error %v", managers(foo), err)
	}
	s.Delete("crd", "", "imoocpods.batch.tutorial.kubebuilder.io")
	if _, err := client.Get(t.Context(), "foo", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without its CRD: got error %v", err)
	}
}

// TestLists checks selectors, and that later pages of a list do not show newer changes.
func TestLists(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	for i := range 5 {
		s.CreateYAML(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d, labels: {odd: '%d'}}, spec: {nodeName: n%d}}", i, i%2, i))
	}
	client := clientOf(t, s).Resource(pods)
	names := func(opts metav1.ListOptions) (text, token string) {
		list, err := client.List(t.Context(), opts)
		if err != nil {
			return err.Error(), ""
		}
		for _, item := range list.Items {
			text += item.GetName() + " "
		}
		return text, list.GetContinue()
	}
	for _, test := range []struct {
		opts metav1.ListOptions
		want string
	}{
		{metav1.ListOptions{}, "p0 p1 p2 p3 p4 "},
		{metav1.ListOptions{LabelSelector: "odd=1"}, "p1 p3 "},
		{metav1.ListOptions{FieldSelector: "metadata.name!=p0,spec.nodeName=n2"}, "p2 "},
		{metav1.ListOptions{FieldSelector: "spec.image=a"}, "field label not supported: spec.image"},
	} {
		if got, _ := names(test.opts); got != test.want {
			t.Errorf("%v: %q, want %q", test.opts, got, test.want)
		}
	}
	first, token := names(metav1.ListOptions{Limit: 2})
	s.Delete("pods", "default", "p3")
	second, last := names(metav1.ListOptions{Limit: 3, Continue: token})
	if first+second != "p0 p1 p2 p3 p4 " || last != "" {
		t.Errorf("got pages %q and %q", first, second)
	}
	s.Expire()
	if _, err := client.List(t.Context(), metav1.ListOptions{Continue: token}); !apierrors.IsResourceExpired(err) {
		t.Errorf("expired page: got error %v", err)
	}
}

// TestWatches checks that an informer stays up to date after its watch breaks or expires.
func TestWatches(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		client := clientOf(t, s).Resource(configMaps)
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return client.Watch(ctx, opts)
			},
		}, &unstructured.Unstructured{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go informer.RunWithContext(ctx)
		defer synctest.Wait()
		defer cancel()
		for i, change := range []func(){
			func() {},
			func() { s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}") },
			func() { s.Delete("cm", "default", "b") },
			func() {
				s.EndWatches("configmaps", nil)
				s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
			},
			func() { s.Delete("cm", "default", "c"); s.Expire() },
		} {
			change()
			<-time.After(time.Minute)
			synctest.Wait()
			if want := 1 + i%2; len(informer.GetStore().ListKeys()) != want {
				t.Errorf("after step %d: %v", i, informer.GetStore().ListKeys())
			}
		}
		if _, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"}); !apierrors.IsResourceExpired(err) {
			t.Errorf("watch from an expired revision: got error %v", err)
		}
		s.Stall("configmaps")
		s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: d}}")
		synctest.Wait()
		if len(informer.GetStore().ListKeys()) != 1 {
			t.Error("a stalled watch sent an event")
		}
	})
}

// TestDeletion checks grace periods, finalizers, and garbage collection.
func TestDeletion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		finalizer string
		node      string
		left      string
	}{
		"at once":          {},
		"with a finalizer": {finalizer: "example.com/it", left: "rs(ending) pod "},
		"with time":        {node: "n1", left: "pod(ending) "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apiserver.New(t)
			s.CreateYAML("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, uid: '1'}}")
			s.CreateYAML("{apiVersion: v1, kind: Pod, metadata: {name: pod, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: '1', controller: true}]}, spec: {nodeName: '" + test.node + "'}}")
			if test.finalizer != "" {
				s.Update("rs", "default", "rs", func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{test.finalizer}) })
			}
			client := clientOf(t, s).Resource(deployments.GroupVersion().WithResource("replicasets")).Namespace("default")
			another := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("2")}
			if err := client.Delete(t.Context(), "rs", another); !apierrors.IsConflict(err) {
				t.Errorf("delete with another UID: got error %v", err)
			}
			if err := client.Delete(t.Context(), "rs", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			left := ""
			for _, resource := range []string{"rs", "pod"} {
				for _, obj := range s.List(resource, "") {
					if left += obj.GetName(); obj.GetDeletionTimestamp() != nil {
						left += "(ending)"
					}
					left += " "
				}
			}
			if left != test.left {
				t.Errorf("got remaining objects %q, want %q", left, test.left)
			}
			s.Remove("pods", "default", "pod")
			s.Update("rs", "default", "rs", func(obj *unstructured.Unstructured) { obj.SetFinalizers(nil) })
			if all := append(s.List("rs", ""), s.List("pods", "")...); len(all) > 0 {
				t.Errorf("%d objects were never deleted", len(all))
			}
		})
	}
}

// TestFaults checks that faults affect only matching requests.
func TestFaults(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		client := clientOf(t, s).Resource(configMaps).Namespace("default")
		put := func(name string) error {
			_, err := client.Create(t.Context(), parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}"), metav1.CreateOptions{})
			return err
		}
		creates := apiserver.On("create", "configmaps")
		s.Fail(creates, apiserver.Fault{Drop: true, Times: 1})
		s.Fail(creates, apiserver.Fault{DropAfter: true, Times: 2})
		if err := put("a"); !errors.Is(err, io.ErrUnexpectedEOF) || s.Get("cm", "default", "a") != nil {
			t.Errorf("drop before the write: got error %v", err)
		}
		if err := put("a"); !errors.Is(err, io.ErrUnexpectedEOF) || s.Get("cm", "default", "a") == nil {
			t.Errorf("drop after the write: got error %v", err)
		}
		begun := time.Now()
		end := s.Fail(apiserver.On("*", "*"), apiserver.Fault{Delay: time.Hour, Err: apierrors.NewInternalError(errors.New("it is broken"))})
		if err := put("b"); !apierrors.IsInternalError(err) || time.Since(begun) != time.Hour {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		end()
		s.Fail(creates, apiserver.Fault{Before: func() { s.CreateYAML("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}") }, Times: 1})
		if err := put("b"); !apierrors.IsAlreadyExists(err) {
			t.Errorf("concurrent write: got error %v", err)
		}
		if _, err := client.Create(t.Context(), parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil || s.Get("cm", "default", "c") != nil {
			t.Errorf("dry run: got error %v", err)
		}
		if all := s.Requests(apiserver.Writes); len(all) != 4 || all[3].String() != "create configmaps" || !strings.Contains(string(all[3].Body), `"b"`) {
			t.Errorf("got writes %v", all)
		}
	})
}
