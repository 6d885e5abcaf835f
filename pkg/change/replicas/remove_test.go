package replicas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// shelf is a server that has objects, by their paths, and takes patches of them.
type shelf struct {
	t       *testing.T
	objects map[string]map[string]any
	// patches are those that it took: the last word of the path, and the patch.
	patches []string
	// read, where it is set, is called after an object was read.
	read func(path string)
}

func newShelf(t *testing.T) *shelf { return &shelf{t: t, objects: map[string]map[string]any{}} }

func (s *shelf) clients() (dynamic.Interface, corev1client.CoreV1Interface) {
	s.t.Helper()
	config := &rest.Config{Host: "http://shelf", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client := &http.Client{Transport: s}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		s.t.Fatal(err)
	}
	pods, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		s.t.Fatal(err)
	}
	return objects, pods
}

// put puts an object on the shelf, with the version 1.
func (s *shelf) put(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: fields}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace("ns")
	obj.SetName(name)
	obj.SetUID(types.UID("uid-of-" + name))
	obj.SetResourceVersion("1")
	gv, _ := schema.ParseGroupVersion(apiVersion)
	root := "/apis/" + apiVersion
	if gv.Group == "" {
		root = "/api/" + apiVersion
	}
	s.objects[fmt.Sprintf("%s/namespaces/ns/%ss/%s", root, strings.ToLower(kind), name)] = obj.Object
	return obj
}

// pod puts a pod on the shelf, of an owner or of nobody.
func (s *shelf) pod(name string, owner *unstructured.Unstructured, labels ...string) {
	pod := s.put("v1", "Pod", name, map[string]any{})
	if len(labels) > 0 {
		pod.SetLabels(map[string]string{labels[0]: labels[1]})
	}
	if owner != nil {
		ownedBy(pod, owner)
	}
}

func ownedBy(obj, owner *unstructured.Unstructured) {
	_ = unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()), "controller": true,
	}}, "metadata", "ownerReferences")
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(code int, value any) (*http.Response, error) {
		text, err := json.Marshal(value)
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, err
	}
	fail := func(code int, reason string) (*http.Response, error) {
		return answer(code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason + " " + r.URL.Path})
	}
	obj := s.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "s"):
		items := []any{}
		for path, obj := range s.objects {
			if strings.HasPrefix(path, r.URL.Path+"/") {
				items = append(items, obj)
			}
		}
		return answer(http.StatusOK, map[string]any{"kind": "List", "apiVersion": "v1", "items": items})
	case obj == nil:
		return fail(http.StatusNotFound, "NotFound")
	case r.Method == http.MethodGet:
		resp, err := answer(http.StatusOK, obj)
		if s.read != nil {
			s.read(r.URL.Path)
		}
		return resp, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	after, err := patched(obj, body, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	before := &unstructured.Unstructured{Object: obj}
	if after.GetResourceVersion() != before.GetResourceVersion() || after.GetUID() != before.GetUID() {
		return fail(http.StatusConflict, "Conflict")
	}
	s.patches = append(s.patches, after.GetName()+" "+string(body))
	if r.URL.Query().Get("dryRun") == "" {
		after.SetResourceVersion(before.GetResourceVersion() + "0")
		s.objects[r.URL.Path] = after.Object
	}
	return answer(http.StatusOK, after.Object)
}

func patched(obj map[string]any, body []byte, contentType string) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if contentType == string(types.JSONPatchType) {
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, err
		}
		text, err = patch.Apply(text)
		if err != nil {
			return nil, err
		}
	} else if text, err = jsonpatch.MergePatch(text, body); err != nil {
		return nil, err
	}
	after := &unstructured.Unstructured{}
	return after, after.UnmarshalJSON(text)
}

const fooVersion = `{"op":"replace","path":"/metadata/resourceVersion","value":"1"}`

// foo is an ImoocPod of so many replicas, with pods in slots.
func (s *shelf) foo(replicas int64, removed string, in ...slots.Slot) observe.Target {
	fields := map[string]any{"spec": map[string]any{"replicas": replicas}}
	if removed != "" {
		fields["metadata"] = map[string]any{"annotations": map[string]any{apis.AnnotationRemovedSlots: removed}}
	}
	foo := s.put(kinds.ImoocPod().Resource.GroupVersion().String(), "ImoocPod", "foo", fields)
	for _, slot := range in {
		s.pod(podOf(slot), foo)
	}
	return observe.Target{Kind: kinds.ImoocPod(), Namespace: "ns", Name: "foo"}
}

// podOf is the name of foo's pod in a slot.
func podOf(slot slots.Slot) string { return slots.PodName("foo", "uid-of-foo", "", slot) }

func (s *shelf) remove(target observe.Target, c Request) (Result, error) {
	s.t.Helper()
	objects, pods := s.clients()
	if c.Current == 0 {
		c.Current = AnyCount
	}
	path := specReplicas()
	return Remove(s.t.Context(), objects, pods, target, discover.Field{Path: &path}, c)
}

// remembered is the part of a patch that records the count before a change such as "3 → 2",
// in an object that has annotations or has none. A count that stays is not recorded.
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

// The count and the slots change in one patch of the version that was read.
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
		if err != nil || done.String() != test.says || done.UID != "uid-of-foo" || done.ResourceVersion != "10" {
			t.Errorf("%s: %+v, %v, want %q", name, done, err, test.says)
		}
		if want := "foo [" + fooVersion + "," + test.patch + remembered(t, test.says, true) + "]"; len(s.patches) != 1 || s.patches[0] != want {
			t.Errorf("%s: the patches are\n%q, want\n%q", name, s.patches, want)
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
		"no such pod":                 {3, "", "nothing", "NotFound", nil},
		"a pod of nobody":             {3, "", "stray", "pod stray is not a pod of imoocpod/foo: it has no controller", nil},
		"a pod of another":            {3, "", "bar-1", "pod bar-1 is not a pod of imoocpod/foo: its controller is the ImoocPod bar", nil},
		"a pod without a slot":        {3, "", "foo-earlier", "cannot remove pod foo-earlier: its name is not that of a slot of imoocpod/foo", nil},
		"a slot that is removed":      {3, "1", podOf(1), "slot 1 of imoocpod/foo, that of pod " + podOf(1) + ", is already removed", outcome.ErrPrecondition},
		"a slot above the wanted":     {3, "", podOf(3), "is about to delete pod " + podOf(3) + ": imoocpod/foo has 3 replicas, and slot 3 is above those", outcome.ErrPrecondition},
		"nothing left":                {0, "", podOf(0), "cannot remove 1 pod from imoocpod/foo: its count is 0", outcome.ErrPrecondition},
		"slots that cannot be read":   {3, "x", podOf(0), `the annotation imoocpod.dev/removed-slots of imoocpod/foo cannot be read: "x" is not`, nil},
		"as many as there can be":     {3, full(), podOf(1001), "cannot remove more slots of imoocpod/foo: 1000 slots are removed, and at most 1000 can be\nhint: scale up with --reuse", nil},
		"a count that cannot be read": {-1, "", podOf(0), "its count is -1", outcome.ErrPrecondition},
	} {
		s := newShelf(t)
		foo := s.foo(test.replicas, test.removed, 0, 1, 2, 3, 1001)
		s.pod("stray", nil)
		s.pod("foo-earlier", &unstructured.Unstructured{Object: s.objects["/apis/batch.tutorial.kubebuilder.io/v1alpha1/namespaces/ns/imoocpods/foo"]})
		s.pod("bar-1", s.put(kinds.ImoocPod().Resource.GroupVersion().String(), "ImoocPod", "bar", map[string]any{}))
		done, err := s.remove(foo, Request{Remove: []string{test.pod}})
		if err == nil || !strings.Contains(told(err), test.want) || (test.is != nil) != errors.Is(err, outcome.ErrPrecondition) || len(s.patches) > 0 {
			t.Errorf("%s: %+v, %v, patches %q, want %q", name, done, err, s.patches, test.want)
		}
	}
}

// full is as many slots as can be removed: the lowest. The wanted ones are above.
func full() string {
	var words []string
	for i := range slots.MaxRemoved {
		words = append(words, fmt.Sprint(i))
	}
	return strings.Join(words, ",")
}

// A pod that replaces a lost one is in the slot of that.
func TestRemoveAPodThatReplacesALostOne(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	foo := s.foo(2, "", 0, 1)
	name := slots.PodName("foo", "uid-of-foo", "lost", 1)
	s.pod(name, &unstructured.Unstructured{Object: s.objects["/apis/batch.tutorial.kubebuilder.io/v1alpha1/namespaces/ns/imoocpods/foo"]}, apis.LabelReplaces, "lost")
	if _, err := s.remove(foo, Request{Remove: []string{name, podOf(1)}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "two of the pods are in slot 1") {
		t.Errorf("both: %v", err)
	}
	_ = unstructured.SetNestedField(s.objects["/api/v1/namespaces/ns/pods/"+podOf(1)], "2026-01-02T12:00:00Z", "metadata", "deletionTimestamp")
	_ = unstructured.SetNestedField(s.objects["/api/v1/namespaces/ns/pods/"+podOf(1)], "lost", "metadata", "uid")
	for pods, want := range map[string]string{
		podOf(1):              "pod " + podOf(1) + " is terminating, and the controller has replaced it by pod " + name,
		name + " " + podOf(1): "and the controller has replaced it",
	} {
		if _, err := s.remove(foo, Request{Remove: strings.Fields(pods)}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pods, err)
		}
	}
	if _, err := s.remove(foo, Request{Remove: []string{name}}); err != nil || !strings.Contains(s.patches[0], `removed-slots":"1"`) {
		t.Errorf("%v, %q", err, s.patches)
	}
}

// A pod that terminates and is not replaced yet is not made again.
func TestRemoveAPodThatTerminates(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	foo := s.foo(2, "", 0, 1)
	_ = unstructured.SetNestedField(s.objects["/api/v1/namespaces/ns/pods/"+podOf(1)], "2026-01-02T12:00:00Z", "metadata", "deletionTimestamp")
	if _, err := s.remove(foo, Request{Remove: []string{podOf(1)}}); err != nil || len(s.patches) != 1 {
		t.Errorf("%v, %q", err, s.patches)
	}
}

// Somebody who changes the object between the look and the patch is never overwritten:
// all is computed again.
func TestRemoveRaces(t *testing.T) {
	t.Parallel()
	const path = "/apis/batch.tutorial.kubebuilder.io/v1alpha1/namespaces/ns/imoocpods/foo"
	race := func(change func(obj map[string]any), c Request) (*shelf, Result, error) {
		s := newShelf(t)
		foo := s.foo(3, "", 0, 1, 2)
		once := false
		s.read = func(read string) {
			if read == path && !once {
				once = true
				obj := (&unstructured.Unstructured{Object: s.objects[path]}).DeepCopy()
				change(obj.Object)
				obj.SetResourceVersion("2")
				s.objects[path] = obj.Object
			}
		}
		done, err := s.remove(foo, c)
		return s, done, err
	}
	scaled := func(n int64) func(map[string]any) {
		return func(obj map[string]any) { _ = unstructured.SetNestedField(obj, n, "spec", "replicas") }
	}
	removed := func(obj map[string]any) {
		scaled(2)(obj)
		_ = unstructured.SetNestedField(obj, "0", "metadata", "annotations", apis.AnnotationRemovedSlots)
	}
	one := Request{Remove: []string{podOf(1)}}
	if _, done, err := race(scaled(5), one); err != nil || done.String() != "5 → 4, removing "+podOf(1) {
		t.Errorf("scaled up meanwhile: %s, %v", done, err)
	}
	if s, done, err := race(removed, one); err != nil || done.String() != "2 → 1, removing "+podOf(1) || !strings.Contains(s.patches[0], `"0,1"`) {
		t.Errorf("another pod was removed meanwhile: %s, %v, %q", done, err, s.patches)
	}
	if s, done, err := race(removed, Request{Remove: []string{podOf(0)}}); !errors.Is(err, outcome.ErrPrecondition) || len(s.patches) > 0 {
		t.Errorf("the same pod was removed meanwhile: %s, %v, %q", done, err, s.patches)
	}
	if s, done, err := race(scaled(1), one); !errors.Is(err, outcome.ErrPrecondition) || len(s.patches) > 0 {
		t.Errorf("scaled below its slot meanwhile: %s, %v, %q", done, err, s.patches)
	}
	one.Current = 3
	if s, done, err := race(scaled(5), one); !errors.Is(err, outcome.ErrPrecondition) || len(s.patches) > 0 {
		t.Errorf("scaled up meanwhile, with --current-replicas: %s, %v, %q", done, err, s.patches)
	}
}

// A dry run by the client looks at all that a change looks at, and shows what it would
// change.
func TestRemoveLookOnly(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	done, err := s.remove(s.foo(3, "", 0, 1, 2), Request{Remove: []string{podOf(1)}, LookOnly: true})
	if err != nil || done.String() != "3 → 2, removing "+podOf(1) || len(s.patches) > 0 {
		t.Fatalf("%s, %v, %q", done, err, s.patches)
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
			if len(s.patches) > 0 || done.Object.GetAnnotations()[apis.AnnotationRemovedSlots] != "" {
				t.Errorf("%s: %q, shows %v", name, s.patches, done.Object)
			}
			continue
		}
		want := fmt.Sprintf(`foo [%s,{"op":"replace","path":"/spec/replicas","value":%d}%s%s]`, fooVersion, test.after, test.patch, remembered(t, test.says, test.removed != ""))
		if len(s.patches) != 1 || s.patches[0] != want {
			t.Errorf("%s: the patches are\n%q, want\n%q", name, s.patches, want)
		}
	}
}

// kindOf is a kind that this program does not ship.
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
			if err == nil || !strings.Contains(err.Error(), test.want) || len(s.patches) > 0 {
				t.Errorf("%s: %s, %v, %q", name, done, err, s.patches)
			}
			continue
		}
		want := fmt.Sprintf(`web [%s,{"op":"replace","path":"/spec/replicas","value":2},%s]`, fooVersion, test.patch)
		if err != nil || done.String() != "3 → 2, removing web-a" || len(s.patches) != 1 || s.patches[0] != want {
			t.Errorf("%s: %s, %v, the patches are\n%q, want\n%q", name, done, err, s.patches, want)
		}
	}
}

// deployment is a Deployment with ReplicaSets that have so many pods each.
func (s *shelf) deployment(pods ...int64) observe.Target {
	web := s.put("apps/v1", "Deployment", "web", map[string]any{"spec": map[string]any{"replicas": int64(3)}})
	for i, n := range pods {
		rs := s.put("apps/v1", "ReplicaSet", fmt.Sprintf("web-%d", i), map[string]any{"spec": map[string]any{"replicas": n}, "status": map[string]any{"replicas": n}})
		ownedBy(rs, web)
		s.pod(fmt.Sprintf("web-%d-a", i), rs)
	}
	return observe.Target{Kind: kindOf("apps", "v1", "Deployment"), Namespace: "ns", Name: "web"}
}

func TestRemoveFromADeployment(t *testing.T) {
	t.Parallel()
	const note = ", removing web-1-a if possible: the ReplicaSet controller deletes pods that are not ready first"
	s := newShelf(t)
	done, err := s.remove(s.deployment(0, 3), Request{Remove: []string{"web-1-a"}})
	want := []string{
		`web-1-a [` + fooVersion + `,{"op":"add","path":"/metadata/annotations","value":{"controller.kubernetes.io/pod-deletion-cost":"-2147483648"}}]`,
		`web [` + fooVersion + `,{"op":"replace","path":"/spec/replicas","value":2}]`,
	}
	if err != nil || done.String() != "3 → 2"+note || len(s.patches) != 2 || s.patches[0] != want[0] || s.patches[1] != want[1] {
		t.Errorf("%s, %v, %q", done, err, s.patches)
	}
	s = newShelf(t)
	if done, err = s.remove(s.deployment(3), Request{Remove: []string{"web-0-a"}, LookOnly: true}); err != nil || len(s.patches) > 0 || done.Replicas != 2 || *done.Before != 3 {
		t.Errorf("dry run: %s, %v, %q", done, err, s.patches)
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
		"another version":     {[]int64{3}, "web-0-a", Request{ResourceVersion: "7"}, "expected the resource version of deployment/web to be 7, was 1"},
		"a pod that is gone":  {[]int64{3}, "web-0-a", Request{Remove: []string{"a", "b", "c"}}, "NotFound"},
	} {
		s := newShelf(t)
		web := s.deployment(test.pods...)
		test.c.Remove = append([]string{test.pod}, test.c.Remove...)
		if done, err := s.remove(web, test.c); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patches) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patches, test.want)
		}
	}
}

// Where somebody else lowers the count after the pod was made the cheapest, the pod
// goes for that, and no other one goes for this.
func TestRemoveFromADeploymentRaces(t *testing.T) {
	t.Parallel()
	const path = "/apis/apps/v1/namespaces/ns/deployments/web"
	s := newShelf(t)
	web := s.deployment(3)
	s.read = func(read string) {
		if strings.Contains(read, "/pods/") {
			_ = unstructured.SetNestedField(s.objects[path], int64(2), "spec", "replicas")
		}
	}
	done, err := s.remove(web, Request{Remove: []string{"web-0-a"}})
	if !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "to be 3, was 2") ||
		!strings.Contains(told(err), "kubectl annotate pod -n ns web-0-a controller.kubernetes.io/pod-deletion-cost-"+pasted) || len(s.patches) != 1 {
		t.Errorf("%s, %v, %q", done, err, s.patches)
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

func TestRemoveFromAReplicaSetOfADeployment(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.deployment(3)
	_, err := s.remove(observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "ns", Name: "web-0"}, Request{Remove: []string{"web-0-a"}})
	if err == nil || !strings.HasSuffix(err.Error(), "the Deployment web sets its count; remove the pod from that") || len(s.patches) > 0 {
		t.Errorf("%v, %q", err, s.patches)
	}
}

// A ReplicaSet that nobody controls, or somebody else, is none of the Deployment, and one of
// its own can be scaled as well.
func TestRemoveBesideOtherReplicaSets(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	stray := s.put("apps/v1", "ReplicaSet", "stray", map[string]any{"spec": map[string]any{"replicas": int64(2)}, "status": map[string]any{"replicas": int64(2)}})
	s.pod("stray-a", stray)
	other := s.put("apps/v1", "ReplicaSet", "other", map[string]any{"spec": map[string]any{"replicas": int64(2)}})
	ownedBy(other, s.put("apps/v1", "Deployment", "db", map[string]any{}))
	if done, err := s.remove(web, Request{Remove: []string{"web-0-a"}}); err != nil || done.Replicas != 2 || len(s.patches) != 2 {
		t.Errorf("%s, %v, %q", done, err, s.patches)
	}
	if done, err := s.remove(observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "ns", Name: "stray"}, Request{Remove: []string{"stray-a"}}); err != nil || done.Replicas != 1 {
		t.Errorf("%s, %v, %q", done, err, s.patches)
	}
}

// A pod that changes all the time, as its status does, becomes the cheapest all the same.
func TestRemoveAPodThatChanges(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	const pod = "/api/v1/namespaces/ns/pods/web-0-a"
	reads := 0
	s.read = func(read string) {
		if reads++; read == pod && reads < 5 {
			changed := (&unstructured.Unstructured{Object: s.objects[pod]}).DeepCopy()
			changed.SetResourceVersion(changed.GetResourceVersion() + "0")
			changed.SetAnnotations(map[string]string{"note": "kept"})
			s.objects[pod] = changed.Object
		}
	}
	done, err := s.remove(web, Request{Remove: []string{"web-0-a"}})
	if err != nil || done.Replicas != 2 || len(s.patches) != 2 {
		t.Errorf("%s, %v, %q", done, err, s.patches)
	}
	after := (&unstructured.Unstructured{Object: s.objects[pod]}).GetAnnotations()
	if after["note"] != "kept" || after["controller.kubernetes.io/pod-deletion-cost"] != "-2147483648" {
		t.Errorf("its annotations are %v", after)
	}
}

// A pod that is another one by now does not become the cheapest, and the count stays.
func TestRemoveAPodThatWasMadeAnew(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	web := s.deployment(3)
	const pod = "/api/v1/namespaces/ns/pods/web-0-a"
	s.read = func(read string) {
		if read == pod {
			again := (&unstructured.Unstructured{Object: s.objects[pod]}).DeepCopy()
			again.SetUID("another")
			s.objects[pod] = again.Object
		}
	}
	if done, err := s.remove(web, Request{Remove: []string{"web-0-a"}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "another pod has the name web-0-a now") || len(s.patches) > 0 {
		t.Errorf("%s, %v, %q", done, err, s.patches)
	}
}

// What cannot be is refused, and nothing is written.
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
		}, "a", "NotFound"},
		"a Deployment that is being deleted": {func(s *shelf) observe.Target {
			web := s.deployment(3)
			_ = unstructured.SetNestedField(s.objects["/apis/apps/v1/namespaces/ns/deployments/web"], "2026-01-02T12:00:00Z", "metadata", "deletionTimestamp")
			return web
		}, "web-0-a", "is being deleted and cannot be scaled"},
		"a count that is none": {func(s *shelf) observe.Target {
			web := s.deployment(3)
			_ = unstructured.SetNestedField(s.objects["/apis/apps/v1/namespaces/ns/deployments/web"], "many", "spec", "replicas")
			return web
		}, "web-0-a", ".spec.replicas"},
		"a list of pods that is none": {func(s *shelf) observe.Target {
			web := s.put("apps.kruise.io/v1alpha1", "CloneSet", "web", map[string]any{"spec": map[string]any{"replicas": int64(3), "scaleStrategy": map[string]any{"podsToDelete": "web-a"}}})
			s.pod("web-a", web)
			return observe.Target{Kind: kindOf("apps.kruise.io", "v1alpha1", "CloneSet"), Namespace: "ns", Name: "web"}
		}, "web-a", "read .spec.scaleStrategy.podsToDelete: "},
	} {
		s := newShelf(t)
		if done, err := s.remove(test.begin(s), Request{Remove: []string{test.pod}}); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patches) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patches, test.want)
		}
	}
}
