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

// name is the name of every object under test, each in its own namespace.
const name = "web"

// The images of the pods, by test phase.
const (
	firstImage  = "registry.example/web:1"
	secondImage = "registry.example/web:2"
	badImage    = "no-such-image"
)

// kind is what the tests know about a third-party kind. It is taken from its
// documentation, not from the plugin.
type kind struct {
	// row is its name in the table.
	row      string
	resource schema.GroupVersionResource
	// between are additional types of objects between its objects and their pods.
	between []schema.GroupVersionResource
	// manifest returns an object with a count and an image.
	manifest func(desired int, image string) string
	// beside are manifests of its dependencies.
	beside string
	// count is the field to scale; few and many are two counts.
	count     []string
	few, many int
	// never0 is set if a count of zero has another meaning.
	never0 bool
	// scaling are additional flags of scale.
	scaling []string
	// pods returns the number of pods for a count, if it differs from the count.
	pods func(desired int) int
	// settled returns why the operator is not done, according to its
	// documentation.
	settled func(obj *unstructured.Unstructured, desired int) error
	// mattering selects the relevant pods of an object; nil selects all.
	mattering func(own []*corev1.Pod, obj *unstructured.Unstructured) []*corev1.Pod
	// image returns a merge patch that sets an image.
	image func(image string) string
	// unrestarted is the message of a refused restart, or "" if a restart works.
	// instead explains in the table why the refusal is right.
	unrestarted, instead string
	// twoCounts are the fields that the count of a new object may mean.
	twoCounts []string
	// hold describes how its rollout is paused.
	hold hold
	// not explains by column why it does not apply.
	not map[string]string
}

// hold describes how the rollout of a kind comes to wait for a user.
type hold struct {
	// manifest returns the initial object; nil means the object of the kind.
	manifest func(desired int, image string) string
	// begin is a merge patch after which the rollout waits.
	begin string
	// held returns why it does not wait yet.
	held func(obj *unstructured.Unstructured, own []*corev1.Pod) error
	// hint is the action that the plugin must suggest.
	hint string
	// end resumes the rollout: a merge patch of the status, or else of the object.
	// desired and image are the state then.
	end      string
	ofStatus bool
	desired  int
	image    string
}

// subject is an object under test.
type subject struct {
	kind
	namespace string
	w         *world
	// desired and asked are the count and image last requested; before are the
	// pods that must go.
	desired int
	asked   string
	before  map[types.UID]bool
	// well is set if all checks passed while the operator was stopped.
	well bool
}

func (s *subject) objects() dynamic.ResourceInterface {
	return plane.Dynamic.Resource(s.resource).Namespace(s.namespace)
}

// newSubject creates a namespace for an object, and watches it.
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

// ready creates an object, and waits until it is ready.
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

// scale returns the arguments of a command that scales the object.
func (s *subject) scale(n int, flags ...string) []string {
	return slices.Concat([]string{"scale", s.ref(), fmt.Sprintf("--replicas=%d", n)}, s.scaling, flags)
}

// want updates the condition of the world to what was requested.
func (s *subject) want() {
	s.w.want(s.isSo)
}

// isSo returns why the object is not as requested. The world is locked.
func (s *subject) isSo() error {
	obj := s.w.object
	if obj == nil {
		return fmt.Errorf("the object does not exist")
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

// patch patches the object as another client.
func (s *subject) patch(t *testing.T, patch string, subresources ...string) {
	t.Helper()
	if _, err := s.objects().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// ask requests another image.
func (s *subject) ask(t *testing.T, image string) {
	t.Helper()
	s.w.mu.Lock()
	s.asked = image
	s.w.mu.Unlock()
	s.want()
	s.patch(t, s.image(image))
}

// aim sets the count that the plugin is going to request.
func (s *subject) aim(desired int) {
	s.w.mu.Lock()
	s.desired = desired
	s.w.mu.Unlock()
	s.want()
}

// describe logs the current state.
func (s *subject) describe(t *testing.T) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.object == nil {
		t.Log("the object does not exist")
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
