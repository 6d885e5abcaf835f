package operators

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// name is that of every object under test; each has a namespace of its own.
const name = "web"

// The images that pods run, by the rounds of a test.
const (
	firstImage  = "registry.example/web:1"
	secondImage = "registry.example/web:2"
	badImage    = "no-such-image"
)

// kind is what the tests know of a kind of others: from its documentation, not
// from the plugin.
type kind struct {
	// row is its name in the table.
	row      string
	resource schema.GroupVersionResource
	// between are the resources between its objects and their pods, beside those of
	// Kubernetes.
	between []schema.GroupVersionResource
	// manifest is an object that wants so many, of an image.
	manifest func(desired int, image string) string
	// beside are manifests of what it needs.
	beside string
	// count is the field that is scaled; few and many are two counts.
	count     []string
	few, many int
	// never0 says that a count of zero is taken for another one.
	never0 bool
	// scaling are further flags of scale.
	scaling []string
	// pods is how many pods a count comes to, where that is another number.
	pods func(desired int) int
	// settled says why the operator is not done, by its own documentation.
	settled func(obj *unstructured.Unstructured, desired int) error
	// mattering picks, of the pods of an object, those that matter; nil is all.
	mattering func(own []*corev1.Pod, obj *unstructured.Unstructured) []*corev1.Pod
	// image is a merge patch that asks for an image.
	image func(image string) string
	// unrestarted is what a refused restart says; "" is that it is not refused.
	// instead says to readers of the table why that is right.
	unrestarted, instead string
	// twoCounts are the fields that a count of a new object may mean.
	twoCounts []string
	// hold is how its roll-out is paused.
	hold hold
	// not says of a column why it does not apply.
	not map[string]string
}

// hold is how the roll-out of a kind comes to wait for somebody.
type hold struct {
	// manifest is the object to begin with; nil is that of the kind.
	manifest func(desired int, image string) string
	// begin is a merge patch after which it waits.
	begin string
	// held says why it does not wait yet.
	held func(obj *unstructured.Unstructured, own []*corev1.Pod) error
	// hint is what the plugin must say to do.
	hint string
	// end lets it go on: a merge patch of the status, or else of the object. desired
	// and image are what is there then.
	end      string
	ofStatus bool
	desired  int
	image    string
}

// subject is one object under test.
type subject struct {
	kind
	namespace string
	w         *world
	// desired and asked are the count and image that were asked for last, before
	// are the pods that must go.
	desired int
	asked   string
	before  map[types.UID]bool
	// well says that all was right while its operator was stopped.
	well bool
}

func (s *subject) objects() dynamic.ResourceInterface {
	return plane.Dynamic.Resource(s.resource).Namespace(s.namespace)
}

// newSubject makes a namespace for an object, and watches it.
func newSubject(t *testing.T, k kind, desired int) *subject {
	t.Helper()
	s := &subject{kind: k, namespace: plane.NewNamespace(t), desired: desired, asked: firstImage}
	for _, obj := range decode(t, []byte(k.beside)) {
		create(t, s.namespace, obj)
	}
	s.w = watchWorld(t, s.namespace, k.resource, k.between...)
	s.want()
	t.Cleanup(func() {
		if t.Failed() {
			s.describe(t)
		}
		_ = plane.Dynamic.Resource(k.resource).Namespace(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
	})
	return s
}

// ready makes an object and waits until it is as wanted.
func ready(t *testing.T, k kind, manifest func(int, string) string, desired int) *subject {
	t.Helper()
	s := newSubject(t, k, desired)
	for _, obj := range decode(t, []byte(manifest(desired, firstImage))) {
		if _, err := s.objects().Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.w.untilTrue(t, "it is ready")
	return s
}

func (s *subject) ref() string { return s.resource.GroupResource().String() + "/" + name }

// scale are the words of a command that scales it.
func (s *subject) scale(n int, flags ...string) []string {
	return slices.Concat([]string{"scale", s.ref(), fmt.Sprintf("--replicas=%d", n)}, s.scaling, flags)
}

// want makes the truth anew of what is asked for.
func (s *subject) want() {
	s.w.want(s.isSo)
}

// isSo says why it is not as wanted. The world is locked.
func (s *subject) isSo() error {
	obj := s.w.object
	if obj == nil {
		return fmt.Errorf("there is no object")
	}
	wanted, own := s.desired, s.w.own()
	if s.pods != nil {
		wanted = s.pods(s.desired)
	}
	if s.mattering != nil {
		own = s.mattering(own, obj)
	}
	if n, found, err := unstructured.NestedInt64(obj.Object, s.count...); len(s.count) > 0 && (err != nil || !found || int(n) != s.desired) {
		return fmt.Errorf("its count is %d", n)
	}
	if err := exactly(own, wanted, s.asked, s.before); err != nil {
		return err
	}
	if s.settled == nil {
		return nil
	}
	return s.settled(obj, s.desired)
}

// patch changes the object as somebody does.
func (s *subject) patch(t *testing.T, patch string, subresources ...string) {
	t.Helper()
	if _, err := s.objects().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// ask asks for another image.
func (s *subject) ask(t *testing.T, image string) {
	t.Helper()
	s.w.mu.Lock()
	s.asked = image
	s.w.mu.Unlock()
	s.want()
	s.patch(t, s.image(image))
}

// aim says what will be asked for by the plugin.
func (s *subject) aim(desired int) {
	s.w.mu.Lock()
	s.desired = desired
	s.w.mu.Unlock()
	s.want()
}

// describe logs what there is.
func (s *subject) describe(t *testing.T) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.object == nil {
		t.Log("there is no object")
		return
	}
	obj := s.w.object.DeepCopy()
	obj.SetManagedFields(nil)
	text, _ := json.Marshal(obj.Object)
	t.Logf("%s\nwhy: %v", text, s.w.why)
	for _, pod := range s.w.pods {
		t.Logf("pod %s: ready %v, ending %v", pod.Name, isReady(pod), pod.DeletionTimestamp)
	}
}
