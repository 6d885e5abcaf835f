package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// name is the name of every object under test. Each object has its own namespace.
const name = "web"

// The images of the pods. badImage cannot be pulled.
const (
	firstImage  = "registry.example/web:1"
	secondImage = "registry.example/web:2"
	badImage    = "no-such-image"
)

// kind describes a third-party kind according to the kind's own documentation, not the plugin's.
type kind struct {
	// row is the name in the table.
	row      string
	resource schema.GroupVersionResource
	kindName string
	// between holds additional types of objects in the chain of owners from a pod to the object.
	between []schema.GroupVersionResource
	// spec is the spec of an object in YAML. COUNT stands for the replica count, and IMAGE for the image.
	spec string
	// service is the manifest of a Service that the object needs, if any.
	service string
	// count is the field to scale. few and many are two values for it.
	count     []string
	few, many int
	// never0 means that a replica count of zero has a special meaning.
	never0 bool
	// scaling holds additional flags of scale.
	scaling []string
	// podsEach is the number of pods for each replica. The default is 1.
	podsEach int
	// settled returns an error until the operator is done, according to the operator's documentation.
	settled func(obj *unstructured.Unstructured, desired int) error
	// mattering, if set, selects the pods of an object that isSo checks.
	mattering func(own []*corev1.Pod, obj *unstructured.Unstructured) []*corev1.Pod
	// image returns a merge patch that sets an image.
	image func(image string) string
	// unrestarted is part of the message of a rejected restart, or "" if a restart works. instead
	// explains the rejection in the table.
	unrestarted, instead string
	// twoCounts lists the fields that the error of an ambiguous "create --replicas" names.
	twoCounts []string
	// hold describes how to pause a rollout.
	hold hold
	// The map named not gives the reason why a column of the table does not apply.
	not map[string]string
}

// hold describes how to make the rollout of a kind wait for a user.
type hold struct {
	// spec is the initial spec. If it is empty, the spec of the kind is used.
	spec string
	// begin is a merge patch that sets the second image, so that the rollout waits.
	begin string
	// held returns an error until the rollout is waiting.
	held func(obj *unstructured.Unstructured, own []*corev1.Pod) error
	// hint is the action that the plugin must suggest.
	hint string
	// end is a merge patch that resumes the rollout. If ofStatus is set, it patches the status.
	end      string
	ofStatus bool
}

// subject is an object under test.
type subject struct {
	kind
	namespace string
	w         *world
	// desired and asked are the last requested replica count and image. before holds the pods that must be gone.
	desired int
	asked   string
	before  map[types.UID]bool
}

func (s *subject) objects() dynamic.ResourceInterface {
	return plane.Dynamic.Resource(s.resource).Namespace(s.namespace)
}

// newSubject creates a namespace with the dependencies of an object, and watches the namespace.
func newSubject(t *testing.T, k kind, desired int) *subject {
	t.Helper()
	s := &subject{kind: k, namespace: plane.NewNamespace(t), desired: desired, asked: firstImage}
	if k.service != "" {
		plane.CreateObject(t, s.namespace, "services", k.service)
	}
	s.w = watchWorld(t, s.namespace, k.resource, k.between...)
	s.want(func() {})
	t.Cleanup(func() {
		if t.Failed() {
			s.describe(t)
		}
		_ = plane.Dynamic.Resource(k.resource).Namespace(s.namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return s
}

// webPods is the selector and the pod template of a spec, as in a Deployment.
const webPods = "selector: {matchLabels: {app: web}}, " +
	"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: IMAGE}]}}"

// manifest returns the manifest of an object with a replica count and the first image.
func (k kind) manifest(desired int) string {
	spec := strings.NewReplacer("COUNT", fmt.Sprint(desired), "IMAGE", strconv.Quote(firstImage)).Replace(k.spec)
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n",
		k.resource.GroupVersion(), k.kindName, name, spec)
}

// ready creates an object, and waits until it is ready.
func ready(t *testing.T, k kind, desired int) *subject {
	t.Helper()
	s := newSubject(t, k, desired)
	obj := harness.Parse(t, k.manifest(desired))
	if _, err := s.objects().Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.w.until(t, "the object is ready", func() error { return s.w.why })
	return s
}

func (s *subject) ref() string { return s.resource.GroupResource().String() + "/" + name }

// run runs a verb of the plugin for the object.
func (s *subject) run(t *testing.T, verb string, flags ...string) result {
	t.Helper()
	return imoocpod(t, s.namespace, append([]string{verb, s.ref()}, flags...)...)
}

// scale makes n the desired replica count, and scales the object.
func (s *subject) scale(t *testing.T, n int, flags ...string) result {
	t.Helper()
	s.aim(n)
	return s.run(t, "scale", slices.Concat([]string{fmt.Sprint("--replicas=", n)}, s.scaling, flags)...)
}

// want changes the desired state, and makes isSo the condition of the world.
func (s *subject) want(change func()) {
	s.w.want(change, s.isSo)
}

// isSo returns an error if the object does not have its desired state. The world must be locked.
func (s *subject) isSo() error {
	obj := s.w.object
	if obj == nil {
		return fmt.Errorf("the object does not exist")
	}
	wanted, own := s.desired*max(1, s.podsEach), s.w.own()
	if s.mattering != nil {
		own = s.mattering(own, obj)
	}
	if n, found, err := unstructured.NestedInt64(obj.Object, s.count...); len(s.count) > 0 && (err != nil || !found || int(n) != s.desired) {
		return fmt.Errorf("the replica count is %d, want %d", n, s.desired)
	}
	if err := exactly(own, wanted, s.asked, s.before); err != nil {
		return err
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

// ask sets the image as another client.
func (s *subject) ask(t *testing.T, image string) {
	t.Helper()
	s.want(func() { s.asked = image })
	s.patch(t, s.image(image))
}

func (s *subject) aim(desired int) {
	s.want(func() { s.desired = desired })
}

func (s *subject) describe(t *testing.T) {
	s.w.Lock()
	defer s.w.Unlock()
	if s.w.object == nil {
		t.Log("the object does not exist")
		return
	}
	obj := s.w.object.DeepCopy()
	obj.SetManagedFields(nil)
	text, _ := json.Marshal(obj.Object)
	t.Logf("%s\nwhy it is not in the desired state: %v", text, s.w.why)
	for _, pod := range s.w.pods {
		t.Logf("pod %s: ready %v, deletion timestamp %v", pod.Name, harness.IsReady(pod), pod.DeletionTimestamp)
	}
}
