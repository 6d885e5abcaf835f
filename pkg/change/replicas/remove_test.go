package replicas

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// patched returns the sent patches, each with the name of its object.
func (s *shelf) patched() []string {
	var all []string
	for _, r := range s.Requests(apiserver.On("patch", "*")) {
		all = append(all, r.Name+" "+string(r.Body))
	}
	return all
}

// guard returns the patch operation that fails if an object is no longer in its first version.
func (s *shelf) guard(name string) string {
	return `{"op":"replace","path":"/metadata/resourceVersion","value":"` + s.versions[name] + `"}`
}

// pod creates a pod with at most one owner.
func (s *shelf) pod(name string, owners ...*unstructured.Unstructured) {
	s.t.Helper()
	s.put("{apiVersion: v1, kind: Pod, metadata: {name: "+name+"}, spec: "+containers+"}", owners...)
}

// foo creates an ImoocPod with pods in the given slots.
func (s *shelf) foo(replicas int64, removed string, in ...slots.Slot) {
	s.t.Helper()
	s.CreateCRDs()
	text := imoocPod(replicas)
	if removed != "" {
		annotations := "annotations: {" + apis.AnnotationRemovedSlots + ": '" + removed + "'}"
		text = strings.Replace(text, "name: foo", "name: foo, "+annotations, 1)
	}
	foo := s.put(text)
	for _, slot := range in {
		s.pod(podOf(slot), foo)
	}
}

func podOf(slot slots.Slot) string { return slots.PodName("foo", "uid-of-foo", "", slot) }

func terminate(obj *unstructured.Unstructured) {
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1e9, 0)})
	obj.SetFinalizers([]string{"example.com/stay"})
}

func (s *shelf) remove(target observe.Target, c Request) (Result, error) {
	s.t.Helper()
	if c.Current == 0 {
		c.Current = AnyCount
	}
	path := specReplicas()
	return Remove(s.t.Context(), s.objects, s.pods, target, discover.Field{Path: &path}, c)
}

// result returns the count and the annotations of the ImoocPod foo.
func (s *shelf) result() string {
	return fmt.Sprint(s.count(ofFoo()), " ", s.stored(ofFoo()).GetAnnotations())
}

// The count and the slots change in the same patch, which requires the version that was read.
func TestRemoveGivesUpSlots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replicas int64
		removed  string
		pods     []string
		says     string
		want     string
	}{
		"the first": {3, "", []string{podOf(1)}, "3 → 2, removing " + podOf(1),
			`2 map[imoocpod.dev/last-scale:{"from":3,"to":2,"path":".spec.replicas"} imoocpod.dev/removed-slots:1]`},
		"another one": {3, "4", []string{podOf(0)}, "3 → 2, removing " + podOf(0),
			`2 map[imoocpod.dev/last-scale:{"from":3,"to":2,"path":".spec.replicas"} imoocpod.dev/removed-slots:0,4]`},
		"several": {3, "1", []string{podOf(3), podOf(0)}, "3 → 1, removing " + podOf(3) + ", " + podOf(0),
			`1 map[imoocpod.dev/last-scale:{"from":3,"to":1,"path":".spec.replicas"} imoocpod.dev/removed-slots:0,1,3]`},
		"the last": {1, "", []string{podOf(0)}, "1 → 0, removing " + podOf(0),
			`0 map[imoocpod.dev/last-scale:{"from":1,"to":0,"path":".spec.replicas"} imoocpod.dev/removed-slots:0]`},
	} {
		s := newShelf(t)
		s.foo(test.replicas, test.removed, 0, 1, 2, 3)
		done, err := s.remove(ofFoo(), Request{Remove: test.pods})
		if err != nil || done.String() != test.says || done.UID != "uid-of-foo" {
			t.Errorf("%s: %+v, %v, want %q", name, done, err, test.says)
		}
		if got := s.result(); got != test.want {
			t.Errorf("%s: it is %s, want %s", name, got, test.want)
		}
		if patches := s.patched(); len(patches) != 1 || !strings.HasPrefix(patches[0], "foo ["+s.guard("foo")) {
			t.Errorf("%s: the patches are %q", name, patches)
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
		"a pod without a slot":        {3, "", "foo-earlier", "cannot remove pod foo-earlier: its name belongs to no slot of imoocpod/foo", nil},
		"a slot that is removed":      {3, "1", podOf(1), "pod " + podOf(1) + " is in slot 1 of imoocpod/foo, which is already removed", outcome.ErrPrecondition},
		"a slot above the wanted":     {3, "", podOf(3), "is about to delete pod " + podOf(3) + ": imoocpod/foo has 3 replicas, and the pod is in slot 3", outcome.ErrPrecondition},
		"nothing left":                {0, "", podOf(0), "cannot remove 1 pod from imoocpod/foo: its count is 0", outcome.ErrPrecondition},
		"slots that cannot be read":   {3, "x", podOf(0), `the annotation imoocpod.dev/removed-slots of imoocpod/foo cannot be read: "x" is not`, nil},
		"as many as there can be":     {3, full(), podOf(1001), "cannot remove more slots of imoocpod/foo: 1001 slots would be removed, and at most 1000 can be\nhint: scale up with --reuse", nil},
		"a count that cannot be read": {-1, "", podOf(0), "its count is -1", outcome.ErrPrecondition},
	} {
		s := newShelf(t)
		s.foo(test.replicas, test.removed, 0, 1, 2, 3, 1001)
		s.pod("stray")
		s.pod("foo-earlier", s.stored(ofFoo()))
		s.pod("bar-1", s.put(strings.Replace(imoocPod(1), "name: foo", "name: bar", 1)))
		done, err := s.remove(ofFoo(), Request{Remove: []string{test.pod}})
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
	s.foo(2, "", 0, 1)
	name := slots.PodName("foo", "uid-of-foo", "lost", 1)
	metadata := "{name: " + name + ", labels: {" + apis.LabelReplaces + ": lost}}"
	s.put("{apiVersion: v1, kind: Pod, metadata: "+metadata+", spec: "+containers+"}", s.stored(ofFoo()))
	if _, err := s.remove(ofFoo(), Request{Remove: []string{name, podOf(1)}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "two of the pods are in slot 1") {
		t.Errorf("both: %v", err)
	}
	s.Update("pods", "shop", podOf(1), func(pod *unstructured.Unstructured) {
		terminate(pod)
		pod.SetUID("lost")
	})
	for pods, want := range map[string]string{
		podOf(1):              "pod " + podOf(1) + " is terminating, and the controller has replaced it by pod " + name,
		name + " " + podOf(1): "and the controller has replaced it",
	} {
		if _, err := s.remove(ofFoo(), Request{Remove: strings.Fields(pods)}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pods, err)
		}
	}
	if _, err := s.remove(ofFoo(), Request{Remove: []string{name}}); err != nil || !strings.Contains(s.patched()[0], `removed-slots":"1"`) {
		t.Errorf("%v, %q", err, s.patched())
	}
}

// A terminating pod without a replacement can be removed, and is then not replaced.
func TestRemoveAPodThatTerminates(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.foo(2, "", 0, 1)
	s.Update("pods", "shop", podOf(1), terminate)
	if _, err := s.remove(ofFoo(), Request{Remove: []string{podOf(1)}}); err != nil || len(s.patched()) != 1 {
		t.Errorf("%v, %q", err, s.patched())
	}
}

// A change between the read and the patch is never overwritten. The server rejects the first patch, and
// the command reads the object and computes the patch again.
func TestRemoveRaces(t *testing.T) {
	t.Parallel()
	race := func(change func(*unstructured.Unstructured), c Request) (*shelf, Result, error) {
		s := newShelf(t)
		s.foo(3, "", 0, 1, 2)
		s.Fail(apiserver.On("patch", "imoocpods"), apiserver.Fault{Times: 1, Before: func() { s.Update("imoocpods", "shop", "foo", change) }})
		done, err := s.remove(ofFoo(), c)
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
	s.foo(3, "", 0, 1, 2)
	done, err := s.remove(ofFoo(), Request{Remove: []string{podOf(1)}, LookOnly: true})
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
		want    string
	}{
		"one of two": {"1,3", 4, "3 → 4, reusing slot 1",
			`4 map[imoocpod.dev/last-scale:{"from":3,"to":4,"path":".spec.replicas"} imoocpod.dev/removed-slots:3]`},
		"all": {"1,3", 6, "3 → 6, reusing slots 1, 3",
			`6 map[imoocpod.dev/last-scale:{"from":3,"to":6,"path":".spec.replicas"}]`},
		"none there": {"", 4, "3 → 4",
			`4 map[imoocpod.dev/last-scale:{"from":3,"to":4,"path":".spec.replicas"}]`},
		"no new pod": {"1,3", 3, "3 → 3",
			`3 map[imoocpod.dev/removed-slots:1,3]`},
		"fewer pods": {"1,3", 2, "3 → 2",
			`2 map[imoocpod.dev/last-scale:{"from":3,"to":2,"path":".spec.replicas"} imoocpod.dev/removed-slots:1,3]`},
		"one far above": {"99", 4, "3 → 4",
			`4 map[imoocpod.dev/last-scale:{"from":3,"to":4,"path":".spec.replicas"} imoocpod.dev/removed-slots:99]`},
	} {
		s := newShelf(t)
		s.foo(3, test.removed)
		request := Request{Replicas: test.after, Reuse: true, Current: AnyCount, LookOnly: true}
		seen, err := Set(t.Context(), ofFoo().Resource(s.objects), ofFoo(), discover.Field{Scale: true}, request)
		if err != nil || seen.String() != test.says || len(s.patched()) > 0 {
			t.Errorf("%s: as it looks only, %s, %v, after %q, want %s", name, seen, err, s.patched(), test.says)
		}
		request.LookOnly = false
		done, err := Set(t.Context(), ofFoo().Resource(s.objects), ofFoo(), discover.Field{Scale: true}, request)
		if err != nil || done.String() != test.says || s.result() != test.want {
			t.Errorf("%s: %s, %v, and it is %s, want %s", name, done, err, s.result(), test.want)
		}
		if !reflect.DeepEqual(seen.Object.GetAnnotations(), done.Object.GetAnnotations()) {
			t.Errorf("%s: it shows %v", name, seen.Object)
		}
		if patches := s.patched(); len(patches) != 1 || !strings.HasPrefix(patches[0], "foo ["+s.guard("foo")) {
			t.Errorf("%s: the patches are %q", name, patches)
		}
	}
}

func TestRemoveFromACloneSet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, patch, want string }{
		"the first": {"{replicas: 3}", `{"op":"add","path":"/spec/scaleStrategy","value":{"podsToDelete":["web-a"]}}`, ""},
		"beside another": {"{replicas: 3, scaleStrategy: {podsToDelete: [web-x]}}",
			`{"op":"replace","path":"/spec/scaleStrategy/podsToDelete","value":["web-x","web-a"]}`, ""},
		"the same":                    {"{replicas: 3, scaleStrategy: {podsToDelete: [web-a]}}", "", "pod web-a is already in .spec.scaleStrategy.podsToDelete"},
		"a count that is none":        {"{replicas: many}", "", ".spec.replicas"},
		"a list of pods that is none": {"{replicas: 3, scaleStrategy: {podsToDelete: web-a}}", "", "read .spec.scaleStrategy.podsToDelete: "},
	} {
		s := newShelf(t)
		s.CreateYAML(cloneSets)
		web := s.put("{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web}, spec: " + test.spec + "}")
		s.pod("web-a", web)
		done, err := s.remove(ofCloneSet(), Request{Remove: []string{"web-a"}})
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

// deployed creates the Deployment web. For each count in pods, it creates a ReplicaSet and one pod.
func (s *shelf) deployed(pods ...int64) {
	s.t.Helper()
	web := s.put(deployment(3))
	for i, n := range pods {
		s.pod(fmt.Sprintf("web-%d-a", i), s.put(replicaSet(fmt.Sprint("web-", i), n), web))
	}
}

// replicaSet returns a ReplicaSet as YAML.
func replicaSet(name string, pods int64) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: %s},
  spec: {replicas: %d, %s}, status: {replicas: %[2]d}}`, name, pods, workload)
}

func ofReplicaSet(name string) observe.Target {
	return observe.Target{Kind: kindOf("apps", "v1", "ReplicaSet"), Namespace: "shop", Name: name}
}

func TestRemoveFromADeployment(t *testing.T) {
	t.Parallel()
	const note = ", removing web-1-a if possible: the ReplicaSet controller deletes pods that are not ready first"
	s := newShelf(t)
	s.deployed(0, 3)
	done, err := s.remove(ofWeb(), Request{Remove: []string{"web-1-a"}})
	want := []string{
		`web-1-a [` + s.guard("web-1-a") + `,{"op":"add","path":"/metadata/annotations","value":{"controller.kubernetes.io/pod-deletion-cost":"-2147483648"}}]`,
		`web [` + s.guard("web") + `,{"op":"replace","path":"/spec/replicas","value":2}]`,
	}
	if err != nil || done.String() != "3 → 2"+note || len(s.patched()) != 2 || s.patched()[0] != want[0] || s.patched()[1] != want[1] {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
	s = newShelf(t)
	s.deployed(3)
	if done, err = s.remove(ofWeb(), Request{Remove: []string{"web-0-a"}, LookOnly: true}); err != nil || len(s.patched()) > 0 || done.Replicas != 2 || *done.Before != 3 {
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
		s.deployed(test.pods...)
		test.c.Remove = append([]string{test.pod}, test.c.Remove...)
		if done, err := s.remove(ofWeb(), test.c); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patched()) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patched(), test.want)
		}
	}
}

// If another client lowers the count after the pod got the lowest cost, the controller deletes the
// pod, and the command removes no other pod.
func TestRemoveFromADeploymentRaces(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.deployed(3)
	s.Fail(apiserver.On("patch", "pods"), apiserver.Fault{Before: s.scaled(ofWeb(), 2)})
	done, err := s.remove(ofWeb(), Request{Remove: []string{"web-0-a"}})
	if !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "to be 3, was 2") ||
		!strings.Contains(told(err), "kubectl annotate pod -n shop web-0-a controller.kubernetes.io/pod-deletion-cost-"+pasted) || len(s.patched()) != 1 {
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
	s.deployed(3)
	s.pod("stray-a", s.put(replicaSet("stray", 2)))
	s.put(replicaSet("other", 2), s.put(strings.Replace(deployment(2), "name: web", "name: db", 1)))
	if done, err := s.remove(ofWeb(), Request{Remove: []string{"web-0-a"}}); err != nil || done.Replicas != 2 || len(s.patched()) != 2 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
	if done, err := s.remove(ofReplicaSet("stray"), Request{Remove: []string{"stray-a"}}); err != nil || done.Replicas != 1 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
}

// If another pod now has the same name, neither its deletion cost nor the count is changed.
func TestRemoveRecreatedPod(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.deployed(3)
	reads := 0
	s.Fail(apiserver.On("get", "pods"), apiserver.Fault{Before: func() {
		if reads++; reads == 2 { // after the check of the pod
			s.Update("pods", "shop", "web-0-a", func(pod *unstructured.Unstructured) { pod.SetUID("another") })
		}
	}})
	if done, err := s.remove(ofWeb(), Request{Remove: []string{"web-0-a"}}); !errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), "another pod has the name web-0-a now") || len(s.patched()) > 0 {
		t.Errorf("%s, %v, %q", done, err, s.patched())
	}
}

func TestRemoveFromOddObjects(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.deployed(3)
	s.Update("deployments", "shop", "web", terminate)
	for name, test := range map[string]struct {
		target observe.Target
		want   string
	}{
		"a kind whose pods cannot be chosen": {observe.Target{Kind: kinds.AppService(), Namespace: "shop", Name: "foo"}, "which chooses the pods itself"},
		"an object that is not there":        {ofReplicaSet("none"), `replicasets.apps "none" not found`},
		"a Deployment that is being deleted": {ofWeb(), "is being deleted and cannot be scaled"},
		"a ReplicaSet of a Deployment":       {ofReplicaSet("web-0"), "the Deployment web sets its count; remove the pod from that"},
	} {
		if done, err := s.remove(test.target, Request{Remove: []string{"web-0-a"}}); err == nil || !strings.Contains(err.Error(), test.want) || len(s.patched()) > 0 {
			t.Errorf("%s: %s, %v, %q, want %q", name, done, err, s.patched(), test.want)
		}
	}
}
