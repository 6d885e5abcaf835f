package replicas

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// shelf is a server with objects in the namespace ns.
type shelf struct {
	*apiserver.Server

	t *testing.T
	// versions contains the first resourceVersion of each object by name.
	versions map[string]string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{Server: apiserver.New(t), t: t, versions: map[string]string{}}
	s.CreateCRDs()
	s.CreateYAML(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clonesets.apps.kruise.io},
  spec: {group: apps.kruise.io, scope: Namespaced, names: {kind: CloneSet, plural: clonesets}, versions: [{name: v1alpha1, served: true, storage: true,
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	return s
}

func (s *shelf) clients() (dynamic.Interface, corev1client.CoreV1Interface) {
	s.t.Helper()
	objects, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	pods, err := corev1client.NewForConfig(s.RESTConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	return objects, pods
}

// patched returns the sent patches, each with the name of its object.
func (s *shelf) patched() []string {
	var all []string
	for _, r := range s.Requests(apiserver.On("patch", "*")) {
		all = append(all, r.Name+" "+string(r.Body))
	}
	return all
}

func (s *shelf) put(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace("ns")
	obj.SetName(name)
	obj.SetUID(types.UID("uid-of-" + name))
	created := s.Create(obj)
	s.versions[name] = created.GetResourceVersion()
	return created
}

// guard returns the patch operation that fails if an object is no longer in its first version.
func (s *shelf) guard(name string) string {
	return `{"op":"replace","path":"/metadata/resourceVersion","value":"` + s.versions[name] + `"}`
}

func template() map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": containers()}
}

func containers() map[string]any {
	return map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/web:1"}}}
}

func workload(replicas int64) map[string]any {
	return map[string]any{"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template()}
}

// pod adds a pod to the shelf. owner can be nil.
func (s *shelf) pod(name string, owner *unstructured.Unstructured, labels ...string) {
	pod := &unstructured.Unstructured{Object: map[string]any{"spec": containers()}}
	if len(labels) > 0 {
		pod.SetLabels(map[string]string{labels[0]: labels[1]})
	}
	if owner != nil {
		ownedBy(pod, owner)
	}
	s.put("v1", "Pod", name, pod.Object)
}

func ownedBy(obj, owner *unstructured.Unstructured) {
	_ = unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
	}}, "metadata", "ownerReferences")
}

// foo adds an ImoocPod with pods in the given slots, and returns its target.
func (s *shelf) foo(replicas int64, removed string, in ...slots.Slot) observe.Target {
	fields := map[string]any{"spec": map[string]any{"replicas": replicas, "template": template()}}
	if removed != "" {
		fields["metadata"] = map[string]any{"annotations": map[string]any{apis.AnnotationRemovedSlots: removed}}
	}
	foo := s.put(kinds.ImoocPod().Resource.GroupVersion().String(), "ImoocPod", "foo", fields)
	for _, slot := range in {
		s.pod(podOf(slot), foo)
	}
	return observe.Target{Kind: kinds.ImoocPod(), Namespace: "ns", Name: "foo"}
}

func podOf(slot slots.Slot) string { return slots.PodName("foo", "uid-of-foo", "", slot) }

func terminate(obj *unstructured.Unstructured) {
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1e9, 0)})
	obj.SetFinalizers([]string{"example.com/stay"})
}

func (s *shelf) remove(target observe.Target, c Request) (Result, error) {
	s.t.Helper()
	objects, pods := s.clients()
	if c.Current == 0 {
		c.Current = AnyCount
	}
	path := specReplicas()
	return Remove(s.t.Context(), objects, pods, target, discover.Field{Path: &path}, c)
}

// remembered returns the part of a patch that records the count before a change such as "3 → 2".
// annotated means that the object has annotations. An unchanged count is not recorded.
func remembered(t *testing.T, change string, annotated bool) string {
	t.Helper()
	var from, to int
	if _, err := fmt.Sscanf(change, "%d → %d", &from, &to); err != nil {
		t.Fatal(err)
	}
	value := fmt.Sprintf(`"{\"from\":%d,\"to\":%d,\"path\":\".spec.replicas\"}"`, from, to)
	switch {
	case from == to:
		return ""
	case annotated:
		return `,{"op":"add","path":"/metadata/annotations/imoocpod.dev~1last-scale","value":` + value + `}`
	}
	return `,{"op":"add","path":"/metadata/annotations","value":{"imoocpod.dev/last-scale":` + value + `}}`
}

// The count and the slots change in the same patch, which requires the version that was read.
func TestRemoveGivesUpSlots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replicas int64
		removed  string
		pods     []string
		says     string
		patch    string
	}{
		"the first": {3, "", []string{podOf(1)}, "3 → 2, removing " + podOf(1),
			`{"op":"replace","path":"/spec/replicas","value":2},{"op":"add","path":"/metadata/annotations","value":{"imoocpod.dev/removed-slots":"1"}}`},
		"another one": {3, "4", []string{podOf(0)}, "3 → 2, removing " + podOf(0),
			`{"op":"replace","path":"/spec/replicas","value":2},{"op":"replace","path":"/metadata/annotations/imoocpod.dev~1removed-slots","value":"0,4"}`},
		"several": {3, "1", []string{podOf(3), podOf(0)}, "3 → 1, removing " + podOf(3) + ", " + podOf(0),
			`{"op":"replace","path":"/spec/replicas","value":1},{"op":"replace","path":"/metadata/annotations/imoocpod.dev~1removed-slots","value":"0,1,3"}`},
		"the last": {1, "", []string{podOf(0)}, "1 → 0, removing " + podOf(0),
			`{"op":"replace","path":"/spec/replicas","value":0},{"op":"add","path":"/metadata/annotations","value":{"imoocpod.dev/removed-slots":"0"}}`},
	} {
		s := newShelf(t)
		foo := s.foo(test.replicas, test.removed, 0, 1, 2, 3)
		done, err := s.remove(foo, Request{Remove: test.pods})
		if err != nil || done.String() != test.says || done.UID != "uid-of-foo" {
			t.Errorf("%s: %+v, %v, want %q", name, done, err, test.says)
		}
		if want := "foo [" + s.guard("foo") + "," + test.patch + remembered(t, test.says, true) + "]"; len(s.patched()) != 1 || s.patched()[0] != want {
			t.Errorf("%s: the patches are\n%q, want\n%q", name, s.patched(), want)
		}
	}
}

func TestRemoveRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replicas int64
		removed  string
		pod      string
		want     string
		is       error
	}{
		"no such pod":                 {3, "", "nothing", `pods "nothing" not found`, nil},
		"a pod of nobody":             {3, "", "stray", "pod stray is not a pod of imoocpod/foo: it has no controller", nil},
		"a pod of another":            {3, "", "bar-1", "pod bar-1 is not a pod of imoocpod/foo: its controller is the ImoocPod bar", nil},
		"a pod without a slot":        {3, "", "foo-earlier", "cannot remove pod foo-earlier: its name is not that of a slot of imoocpod/foo", nil},
		"a slot that is removed":      {3, "1", podOf(1), "pod " + podOf(1) + " is in slot 1 of imoocpod/foo, which is already removed", outcome.ErrPrecondition},
		"a slot above the wanted":     {3, "", podOf(3), "is about to delete pod " + podOf(3) + ": imoocpod/foo has 3 replicas, and the pod is in slot 3", outcome.ErrPrecondition},
		"nothing left":                {0, "", podOf(0), "cannot remove 1 pod from imoocpod/foo: its count is 0", outcome.ErrPrecondition},
		"slots that cannot be read":   {3, "x", podOf(0), `the annotation imoocpod.dev/removed-slots of imoocpod/foo cannot be read: "x" is not`, nil},
		"as many as there can be":     {3, full(), podOf(1001), "cannot remove more slots of imoocpod/foo: 1001 slots would be removed, and at most 1000 can be\nhint: scale up with --reuse", nil},
		"a count that cannot be read": {-1, "", podOf(0), "its count is -1", outcome.ErrPrecondition},
	} {
		s := newShelf(t)
		foo := s.foo(test.replicas, test.removed, 0, 1, 2, 3, 1001)
		s.pod("stray", nil)
		s.pod("foo-earlier", s.Get("imoocpods", "ns", "foo"))
		s.pod("bar-1", s.put(kinds.ImoocPod().Resource.GroupVersion().String(), "ImoocPod", "bar", map[string]any{"spec": map[string]any{"template": template()}}))
		done, err := s.remove(foo, Request{Remove: []string{test.pod}})
		if err == nil || !strings.Contains(told(err), test.want) || (test.is != nil) != errors.Is(err, outcome.ErrPrecondition) || len(s.patched()) > 0 {
			t.Errorf("%s: %+v, %v, patches %q, want %q", name, done, err, s.patched(), test.want)
		}
	}
}

// full returns the longest valid list of removed slots.
func full() string {
	var words []string
	for i := range slots.MaxRemoved {
		words = append(words, fmt.Sprint(i))
	}
	return strings.Join(words, ",")
}

// A replacement has the same slot as the lost pod.
func TestRemoveAPodThatReplacesALostOne(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	foo := s.foo(2, "", 0, 1)
	name := slots.PodName("foo", "uid-of-foo", "lost", 1)
	s.pod(name, s.Get("imoocpods", "ns", "foo"), apis.LabelReplaces, "lost")
	if _, err := s.remove(foo, Request{Remove: []string{name, podOf(1)}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "two of the pods are in slot 1") {
		t.Errorf("both: %v", err)
	}
	s.Update("pods", "ns", podOf(1), func(pod *unstructured.Unstructured) {
		terminate(pod)
		pod.SetUID("lost")
	})
	for pods, want := range map[string]string{
		podOf(1):              "pod " + podOf(1) + " is terminating, and the controller has replaced it by pod " + name,
		name + " " + podOf(1): "and the controller has replaced it",
	} {
		if _, err := s.remove(foo, Request{Remove: strings.Fields(pods)}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pods, err)
		}
	}
	if _, err := s.remove(foo, Request{Remove: []string{name}}); err != nil || !strings.Contains(s.patched()[0], `removed-slots":"1"`) {
		t.Errorf("%v, %q", err, s.patched())
	}
}

// A terminating pod without a replacement can be removed, and is then not replaced.
func TestRemoveAPodThatTerminates(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	foo := s.foo(2, "", 0, 1)
	s.Update("pods", "ns", podOf(1), terminate)
	if _, err := s.remove(foo, Request{Remove: []string{podOf(1)}}); err != nil || len(s.patched()) != 1 {
		t.Errorf("%v, %q", err, s.patched())
	}
}

// A change between the read and the patch is never overwritten. The server rejects the first patch, and
// the command reads the object and computes the patch again.
func TestRemoveRaces(t *testing.T) {
	t.Parallel()
	race := func(change func(*unstructured.Unstructured), c Request) (*shelf, Result, error) {
		s := newShelf(t)
		foo := s.foo(3, "", 0, 1, 2)
		s.Fail(apiserver.On("patch", "imoocpods"), apiserver.Fault{Times: 1, Before: func() { s.Update("imoocpods", "ns", "foo", change) }})
		done, err := s.remove(foo, c)
		return s, done, err
	}
	scaled := func(n int64) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, n, "spec", "replicas")
		}
	}
	removed := func(obj *unstructured.Unstructured) {
		scaled(2)(obj)
		obj.SetAnnotations(map[string]string{apis.AnnotationRemovedSlots: "0"})
	}
	one := Request{Remove: []string{podOf(1)}}
	if _, done, err := race(scaled(5), one); err != nil || done.String() != "5 → 4, removing "+podOf(1) {
		t.Errorf("scaled up meanwhile: %s, %v", done, err)
	}
	if s, done, err := race(removed, one); err != nil || done.String() != "2 → 1, removing "+podOf(1) || !strings.Contains(s.patched()[1], `"0,1"`) {
		t.Errorf("another pod was removed meanwhile: %s, %v, %q", done, err, s.patched())
	}
	if s, done, err := race(removed, Request{Remove: []string{podOf(0)}}); !errors.Is(err, outcome.ErrPrecondition) || len(s.patched()) > 1 {
		t.Errorf("the same pod was removed meanwhile: %s, %v, %q", done, err, s.patched())
	}
	if s, done, err := race(scaled(1), one); !errors.Is(err, outcome.ErrPrecondition) || len(s.patched()) > 1 {
		t.Errorf("scaled below its slot meanwhile: %s, %v, %q", done, err, s.patched())
	}
	one.Current = 3
	if s, done, err := race(scaled(5), one); !errors.Is(err, outcome.ErrPrecondition) || len(s.patched()) > 1 {
		t.Errorf("scaled up meanwhile, with --current-replicas: %s, %v, %q", done, err, s.patched())
	}
}

// A client-side dry run makes the same checks as a change, and shows the change.
func TestRemoveLookOnly(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	done, err := s.remove(s.foo(3, "", 0, 1, 2), Request{Remove: []string{podOf(1)}, LookOnly: true})
	if err != nil || done.String() != "3 → 2, removing "+podOf(1) || len(s.patched()) > 0 {
		t.Fatalf("%s, %v, %q", done, err, s.patched())
	}
	n, _, _ := unstructured.NestedInt64(done.Object.Object, "spec", "replicas")
	if n != 2 || done.Object.GetAnnotations()[apis.AnnotationRemovedSlots] != "1" {
		t.Errorf("shows %v", done.Object)
	}
}

func TestReuse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		removed string
		after   int32
		says    string
		patch   string
	}{
		"one of two": {"1,3", 4, "3 → 4, reusing slot 1",
			`,{"op":"replace","path":"/metadata/annotations/imoocpod.dev~1removed-slots","value":"3"}`},
		"all": {"1,3", 6, "3 → 6, reusing slots 1, 3",
			`,{"op":"remove","path":"/metadata/annotations/imoocpod.dev~1removed-slots"}`},
		"none there":       {"", 4, "3 → 4", ""},
		"no new pod":       {"1,3", 3, "3 → 3", ""},
		"fewer pods":       {"1,3", 2, "3 → 2", ""},
		"one far above":    {"99", 4, "3 → 4", ""},
		"as it looks only": {"1", 4, "3 → 4, reusing slot 1", "-"},
	} {
		s := newShelf(t)
		foo := s.foo(3, test.removed)
		objects, _ := s.clients()
		done, err := Set(t.Context(), foo.Resource(objects), foo, discover.Field{Scale: true}, Request{Replicas: test.after, Reuse: true, Current: AnyCount, LookOnly: test.patch == "-"})
		if err != nil || done.String() != test.says {
			t.Errorf("%s: %s, %v, want %s", name, done, err, test.says)
		}
		if test.patch == "-" {
			if len(s.patched()) > 0 || done.Object.GetAnnotations()[apis.AnnotationRemovedSlots] != "" {
				t.Errorf("%s: %q, shows %v", name, s.patched(), done.Object)
			}
			continue
		}
		want := fmt.Sprintf(`foo [%s,{"op":"replace","path":"/spec/replicas","value":%d}%s%s]`, s.guard("foo"), test.after, test.patch, remembered(t, test.says, test.removed != ""))
		if len(s.patched()) != 1 || s.patched()[0] != want {
			t.Errorf("%s: the patches are\n%q, want\n%q", name, s.patched(), want)
		}
	}
}

// kindOf returns a kind that this program does not ship.
func kindOf(group, version, kind string) kinds.Kind {
	singular := strings.ToLower(kind)
	return kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: version, Resource: singular + "s"}, Kind: kind, Singular: singular}
}

func TestRemoveFromACloneSet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		listed []any
		patch  string
		want   string
	}{
		"the first": {nil, `{"op":"add","path":"/spec/scaleStrategy","value":{"podsToDelete":["web-a"]}}`, ""},
		"beside another": {[]any{"web-x"},
			`{"op":"replace","path":"/spec/scaleStrategy/podsToDelete","value":["web-x","web-a"]}`, ""},
		"the same": {[]any{"web-a"}, "", "pod web-a is already in .spec.scaleStrategy.podsToDelete"},
	} {
		s := newShelf(t)
		spec := map[string]any{"replicas": int64(3)}
		if test.listed != nil {
			spec["scaleStrategy"] = map[string]any{"podsToDelete": test.listed}
		}
		web := s.put("apps.kruise.io/v1alpha1", "CloneSet", "web", map[string]any{"spec": spec})
		s.pod("web-a", web)
		done, err := s.remove(observe.Target{Kind: kindOf("apps.kruise.io", "v1alpha1", "CloneSet"), Namespace: "ns", Name: "web"}, Request{Remove: []string{"web-a"}})
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) || len(s.patched()) > 0 {
				t.Errorf("%s: %s, %v, %q", name, done, err, s.patched())
			}
			continue
		}
		want := fmt.Sprintf(`web [%s,{"op":"replace","path":"/spec/replicas","value":2},%s]`, s.guard("web"), test.patch)
		if err != nil || done.String() != "3 → 2, removing web-a" || len(s.patched()) != 1 || s.patched()[0] != want {
			t.Errorf("%s: %s, %v, the patches are\n%q, want\n%q", name, done, err, s.patched(), want)
		}
	}
}

// deployment adds a Deployment with a ReplicaSet for each number of pods, and returns its target.
func (s *shelf) deployment(pods ...int64) observe.Target {
	web := s.put("apps/v1", "Deployment", "web", map[string]any{"spec": workload(3)})
	for i, n := range pods {
		rs := s.replicaSet(fmt.Sprintf("web-%d", i), n, web)
		s.pod(fmt.Sprintf("web-%d-a", i), rs)
	}
	return observe.Target{Kind: kindOf("apps", "v1", "Deployment"), Namespace: "ns", Name: "web"}
}

// replicaSet adds a ReplicaSet with a number of pods. owner can be nil.
func (s *shelf) replicaSet(name string, pods int64, owner *unstructured.Unstructured) *unstructured.Unstructured {
	rs := &unstructured.Unstructured{Object: map[string]any{"spec": workload(pods), "status": map[string]any{"replicas": pods}}}
	if owner != nil {
		ownedBy(rs, owner)
	}
	return s.put("apps/v1", "ReplicaSet", name, rs.Object)
}

func TestRemoveFromADeployment(t *testing.T) {
	t.Parallel()
	const note = ", removing web-1-a if possible: the ReplicaSet controller deletes pods that are not ready first"
	s := newShelf(t)
	done, err := s.remove(s.deployment(0, 3), Request{Remove: []string{"web-1-a"}})
	want := []string{
		`web-1-a [` + s.guard("web-1-a") + `,{"op":"add","path":"/metadata/annotations","value":{"controller.kubernetes.io/pod-deletion-cost":"-2147483648"}}]`,
		`web [` + s.guard("web") + `,{"op":"replace","path":"/spec/replicas","value":2}]`,
	}
	if err != nil || done.String() != "3 → 2"+note || len(s.patched()) != 2 || s.patched()[0] != want[0] || s.patched()[1] != want[1] {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
	s = newShelf(t)
	if done, err = s.remove(s.deployment(3), Request{Remove: []string{"web-0-a"}, LookOnly: true}); err != nil || len(s.patched()) > 0 || done.Replicas != 2 || *done.Before != 3 {
		t.Errorf("dry run: %s, %v, %q", done, err, s.patched())
	}
	for name, test := range map[string]struct {
		pods []int64
		pod  string
		c    Request
		want string
	}{
		"a rollout":           {[]int64{1, 2}, "web-1-a", Request{}, "both have pods, and a rollout decides between them"},
		"no pods":             {[]int64{0}, "web-0-a", Request{}, "deployment/web has no pods"},
		"a pod of an old one": {[]int64{0, 3}, "web-0-a", Request{}, "pod web-0-a is not a pod of deployment/web: its controller is the ReplicaSet web-0"},
		"too few":             {[]int64{3}, "web-0-a", Request{Current: 4}, "expected the replicas of deployment/web to be 4, was 3"},
		"another version":     {[]int64{3}, "web-0-a", Request{ResourceVersion: "7777"}, "expected the resource version of deployment/web to be 7777, was "},
		"a pod that is gone":  {[]int64{3}, "web-0-a", Request{Remove: []string{"a", "b", "c"}}, `pods "a" not found`},
	} {
		s := newShelf(t)
		web := s.deployment(test.pods...)
		test.c.Remove = append([]string{test.pod}, test.c.Remove...)
		if done, err := s.remove(web, test.c); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patched()) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patched(), test.want)
		}
	}
}

// If another client lowers the count after the pod got the lowest cost, the controller deletes the
// pod, and the command removes no other pod.
func TestRemoveFromADeploymentRaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	s.Fail(apiserver.On("patch", "pods"), apiserver.Fault{Before: func() {
		s.Update("deployments", "ns", "web", func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, int64(2), "spec", "replicas")
		})
	}})
	done, err := s.remove(web, Request{Remove: []string{"web-0-a"}})
	if !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "to be 3, was 2") ||
		!strings.Contains(told(err), "kubectl annotate pod -n ns web-0-a controller.kubernetes.io/pod-deletion-cost-"+pasted) || len(s.patched()) != 1 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
}

func TestKindsWhosePodsCannotBeChosen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind kinds.Kind
		want string
	}{
		{kinds.ImoocPod(), ""},
		{kindOf("apps", "v1", "Deployment"), ""},
		{kindOf("apps", "v1", "ReplicaSet"), ""},
		{kindOf("apps.kruise.io", "v1beta1", "CloneSet"), ""},
		{kindOf("apps.kruise.io", "v1beta1", "StatefulSet"), "this program does not know how to choose pods of this kind"},
		{kindOf("example.com", "v1", "CloneSet"), "this program does not know how to choose pods of this kind"},
		{kindOf("apps", "v1", "StatefulSet"), "a StatefulSet always deletes the pod with the highest ordinal"},
		{kinds.AppService(), "run-controller sets the count of its Deployment, which chooses the pods itself"},
		{kinds.MyDaemonSet(), "it runs one pod per node"},
	} {
		target := observe.Target{Kind: test.kind, Name: "x"}
		err := Request{Remove: []string{"x-0"}}.Check(target)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.kind, err, test.want)
		}
		if err := (Request{Reuse: true}).Check(target); (err == nil) != (test.kind.Mapping.Strategy == kinds.StrategyPods) {
			t.Errorf("--reuse for %s: %v", test.kind, err)
		}
		if err := (Request{}).Check(target); err != nil {
			t.Errorf("%s: %v", test.kind, err)
		}
	}
}

// A ReplicaSet belongs to the Deployment only if the Deployment controls it. A ReplicaSet without a
// controller can be scaled directly.
func TestRemoveWithOtherReplicaSets(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	s.pod("stray-a", s.replicaSet("stray", 2, nil))
	s.replicaSet("other", 2, s.put("apps/v1", "Deployment", "db", map[string]any{"spec": workload(2)}))
	if done, err := s.remove(web, Request{Remove: []string{"web-0-a"}}); err != nil || done.Replicas != 2 || len(s.patched()) != 2 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
	if done, err := s.remove(observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "ns", Name: "stray"}, Request{Remove: []string{"stray-a"}}); err != nil || done.Replicas != 1 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
}

// If another pod now has the same name, neither its deletion cost nor the count is changed.
func TestRemoveRecreatedPod(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	reads := 0
	s.Fail(apiserver.On("get", "pods"), apiserver.Fault{Before: func() {
		if reads++; reads == 2 { // after the check of the pod
			s.Update("pods", "ns", "web-0-a", func(pod *unstructured.Unstructured) { pod.SetUID("another") })
		}
	}})
	if done, err := s.remove(web, Request{Remove: []string{"web-0-a"}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "another pod has the name web-0-a now") || len(s.patched()) > 0 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
}

func TestRemoveFromOddObjects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begin func(*shelf) observe.Target
		pod   string
		want  string
	}{
		"a kind whose pods cannot be chosen": {func(*shelf) observe.Target {
			return observe.Target{Kind: kinds.AppService(), Namespace: "ns", Name: "foo"}
		}, "a", "which chooses the pods itself"},
		"an object that is not there": {func(*shelf) observe.Target {
			return observe.Target{Kind: kindOf("apps", "v1", "Deployment"), Namespace: "ns", Name: "web"}
		}, "a", `deployments.apps "web" not found`},
		"a Deployment that is being deleted": {func(s *shelf) observe.Target {
			web := s.deployment(3)
			s.Update("deployments", "ns", "web", terminate)
			return web
		}, "web-0-a", "is being deleted and cannot be scaled"},
		"a ReplicaSet of a Deployment": {func(s *shelf) observe.Target {
			s.deployment(3)
			return observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "ns", Name: "web-0"}
		}, "web-0-a", "the Deployment web sets its count; remove the pod from that"},
		"a count that is none": {func(s *shelf) observe.Target {
			web := s.put("apps.kruise.io/v1alpha1", "CloneSet", "web", map[string]any{"spec": map[string]any{"replicas": "many"}})
			s.pod("web-a", web)
			return observe.Target{Kind: kindOf("apps.kruise.io", "v1alpha1", "CloneSet"), Namespace: "ns", Name: "web"}
		}, "web-a", ".spec.replicas"},
		"a list of pods that is none": {func(s *shelf) observe.Target {
			web := s.put("apps.kruise.io/v1alpha1", "CloneSet", "web", map[string]any{"spec": map[string]any{"replicas": int64(3), "scaleStrategy": map[string]any{"podsToDelete": "web-a"}}})
			s.pod("web-a", web)
			return observe.Target{Kind: kindOf("apps.kruise.io", "v1alpha1", "CloneSet"), Namespace: "ns", Name: "web"}
		}, "web-a", "read .spec.scaleStrategy.podsToDelete: "},
	} {
		s := newShelf(t)
		if done, err := s.remove(test.begin(s), Request{Remove: []string{test.pod}}); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patched()) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patched(), test.want)
		}
	}
}
