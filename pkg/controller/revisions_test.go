package controller

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// checkRecorded checks that the revision of a template exists before the template is used.
func (w *world) checkRecorded(is request, owner *unstructured.Unstructured, hash string) {
	name := plan.RevisionName(owner.GetName(), owner.GetUID(), hash)
	if is.in.Get("controllerrevisions", owner.GetNamespace(), name) == nil && !w.historyless {
		w.addViolation("%s before the revision of its template exists", is)
	}
}

// checkRevision checks a write of a revision. The loop must have read the owner before. The name of a new revision must
// contain the hash of its template. A patch may change only the labels, the annotations, and the revision number. A
// patch or a delete must have the resource version as a precondition. A revision in use must not be deleted.
func (w *world) checkRevision(is request, kind kinds.Kind, owner *unstructured.Unstructured) {
	if owner == nil {
		w.addViolation("I4: %s: the loop does not own the revision", is)
		return
	}
	if _, ever := w.lastRead[owner.GetUID()]; !ever {
		w.addViolation("%s: the loop has not read the owner", is)
	}
	if is.before != nil && !bytes.Contains(is.Body, []byte(`"resourceVersion":`)) {
		w.addViolation("I4: %s without the resource version as a precondition", is)
	}
	revision := is.after
	if revision == nil {
		revision = is.before
	}
	hash := plan.RevisionTemplate(revision.GetName(), owner.GetName(), owner.GetUID())
	switch is.Verb {
	case "create":
		data, _, _ := unstructured.NestedMap(is.after.Object, "data")
		ofLabel := func(label string) bool {
			kind.Mapping.NameLabel = label
			return kinds.TemplateHash(kind, &unstructured.Unstructured{Object: data}) == hash
		}
		if !ofLabel(kind.Mapping.NameLabel) && (kind.Shipped() || !slices.ContainsFunc(w.formerLabels, ofLabel)) {
			w.addViolation("%s: the template in the revision does not match the hash in its name", is)
		}
	case "patch":
		before, after := is.before.DeepCopy(), is.after.DeepCopy()
		for _, obj := range []*unstructured.Unstructured{before, after} {
			obj.SetLabels(nil)
			obj.SetAnnotations(nil)
			obj.SetManagedFields(nil)
			obj.Object["revision"] = nil
		}
		if fmt.Sprint(before.Object) != fmt.Sprint(after.Object) {
			w.addViolation("I4: %s changes more than the labels, the annotations, and the number", is)
		}
	case "delete":
		inUse := slices.ContainsFunc(children(is.in, owner), func(pod *unstructured.Unstructured) bool { return pod.GetLabels()[apis.LabelTemplateHash] == hash })
		if inUse || hash == "" || hash == kinds.TemplateHash(kind, owner) {
			w.addViolation("%s: the revision is in use", is)
		}
	}
}

// history returns the template hashes and the numbers of the revisions of an object, oldest first. If
// several revisions have the same number, it joins their hashes.
func (w *world) history(owner *unstructured.Unstructured) (hashes []string, numbers []int64) {
	byNumber := map[int64]string{}
	for _, r := range w.List("controllerrevisions", owner.GetNamespace()) {
		if metav1.IsControlledBy(r, owner) {
			number, _, _ := unstructured.NestedInt64(r.Object, "revision")
			byNumber[number] += plan.RevisionTemplate(r.GetName(), owner.GetName(), owner.GetUID())
		}
	}
	numbers = slices.Sorted(maps.Keys(byNumber))
	for _, n := range numbers {
		hashes = append(hashes, byNumber[n])
	}
	return hashes, numbers
}

// historyMismatch describes a fault in the history of an object, or returns "". The newest revision
// must have the object's current template.
func (w *world) historyMismatch(kind kinds.Kind, owner *unstructured.Unstructured) string {
	if w.historyless {
		return ""
	}
	newest := ""
	if hashes, _ := w.history(owner); len(hashes) > 0 {
		newest = hashes[len(hashes)-1]
	}
	if want := kinds.TemplateHash(kind, owner); newest != want {
		return fmt.Sprintf("the newest revision of %s has the template hash %q, want %q", owner.GetName(), newest, want)
	}
	return ""
}

func revisionWrite(r apiserver.Request) bool {
	return apiserver.Writes(r) && r.Resource == "controllerrevisions"
}

// eachStrategy runs a test in a world for each strategy, and for a declared kind with a pod template and a Deployment.
// The function image sets the image of the object foo.
func eachStrategy(t *testing.T, do func(t *testing.T, w *world, kind kinds.Kind, image func(string))) {
	t.Helper()
	templated := func(w *world, kind kinds.Kind) func(string) {
		return func(image string) { w.set(kind, "default", "foo", template(image), "spec", "template") }
	}
	imaged := func(w *world, kind kinds.Kind) func(string) {
		return func(image string) { w.set(kind, "default", "foo", image, "spec", "image") }
	}
	t.Run("pods", func(t *testing.T) {
		inWorld(t, imoocPods(), func(w *world) { do(t, w, kinds.ImoocPod(), templated(w, kinds.ImoocPod())) })
	})
	t.Run("deployment", func(t *testing.T) {
		inWorld(t, []kinds.Kind{kinds.AppService()}, func(w *world) { do(t, w, kinds.AppService(), imaged(w, kinds.AppService())) })
	})
	t.Run("nodes", func(t *testing.T) {
		inWorld(t, []kinds.Kind{kinds.MyDaemonSet()}, func(w *world) {
			w.CreateYAML("{apiVersion: v1, kind: Node, metadata: {name: node-2}}")
			do(t, w, kinds.MyDaemonSet(), imaged(w, kinds.MyDaemonSet()))
		})
	})
	t.Run("declared", func(t *testing.T) {
		inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) { do(t, w, kind, templated(w, kind)) })
	})
}

// ofAnyKind returns the fields of an object with an image and, if the kind has a replica count,
// with two replicas.
func ofAnyKind(kind kinds.Kind, image string) map[string]any {
	if len(kind.Mapping.TemplatePath) > 0 {
		return spec(int64(2), template(image))
	}
	fields := map[string]any{"image": image}
	if len(kind.ReplicasPath) > 0 {
		fields["replicas"] = int64(2)
	}
	return map[string]any{"spec": fields}
}

// After the templates A, B, and A again, the history is B and then A. Scaling does not change the
// history, and a converged object causes no writes.
func TestHistoryOfTemplates(t *testing.T) {
	eachStrategy(t, func(t *testing.T, w *world, kind kinds.Kind, image func(string)) {
		foo := w.create(kind, "default", "foo", ofAnyKind(kind, "a"))
		a := kinds.TemplateHash(kind, foo)
		w.start()
		w.converges()
		if made := w.Requests(revisionWrite); len(made) != 1 {
			t.Errorf("%d revision writes for the first template, want 1: %v", len(made), made)
		}
		if len(kind.ReplicasPath) > 0 {
			w.set(kind, "default", "foo", int64(3), kind.ReplicasPath...)
			w.converges()
		}
		w.staysQuiet()
		if made := w.Requests(revisionWrite); len(made) != 1 {
			t.Errorf("%d revision writes after the object was scaled, want 1: %v", len(made), made)
		}
		image("b")
		w.converges()
		b := kinds.TemplateHash(kind, w.Get(kind.CRD(), "default", "foo"))
		image("a")
		w.converges()
		w.staysQuiet()
		w.restartsQuietly()
		if hashes, numbers := w.history(foo); !slices.Equal(hashes, []string{b, a}) || !slices.Equal(numbers, []int64{2, 3}) {
			t.Errorf("the history has the template hashes %v with the numbers %v, want %v with 2 and 3", hashes, numbers, []string{b, a})
		}
		if made := w.Requests(revisionWrite); len(made) != 3 {
			t.Errorf("%d revision writes, want 3: %v", len(made), made)
		}
	})
}

// The revision records the reason for a template change and the user who made it.
func TestChangeCauseIsKept(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(1), template("a")))
		a := kinds.TemplateHash(kinds.ImoocPod(), foo)
		w.start()
		w.converges()
		cause := func(image, why, by string) {
			w.change(kinds.ImoocPod(), "default", "foo", func(obj *unstructured.Unstructured) {
				set(obj, template(image), "spec", "template")
				obj.SetAnnotations(map[string]string{apis.AnnotationChangeCause: why, apis.AnnotationChangedBy: by})
				if why == "" {
					obj.SetAnnotations(nil)
					obj.SetManagedFields(nil)
				}
			})
			w.converges()
		}
		annotations := func(hash string) map[string]string {
			return w.Get("controllerrevisions", "default", plan.RevisionName("foo", foo.GetUID(), hash)).GetAnnotations()
		}
		cause("b", "image a → b", "alice")
		b := kinds.TemplateHash(kinds.ImoocPod(), w.Get(kinds.ImoocPod().CRD(), "default", "foo"))
		if is := annotations(b); is[apis.AnnotationChangeCause] != "image a → b" || is[apis.AnnotationChangedBy] != "alice" {
			t.Errorf("annotations of revision b = %v, want the cause \"image a → b\" by alice", is)
		}
		cause("a", "undo of 2", "bob")
		if is := annotations(a); is[apis.AnnotationChangeCause] != "undo of 2" || is[apis.AnnotationChangedBy] != "bob" {
			t.Errorf("annotations of revision a = %v, want the cause \"undo of 2\" by bob", is)
		}
		cause("b", "", "")
		if is := annotations(b); len(is) != 0 {
			t.Errorf("annotations of revision b after a change without a cause = %v, want none", is)
		}
	})
}

// If revisions cannot be listed, as with the role of an earlier version, or cannot be written, objects still converge.
// The loop logs this once. When it gets the permission to list revisions, it writes a revision of the current template.
// It retries a rejected write only when the object changes. Repeated server errors count as a rejection.
func TestRefusedRevisionDoesNotBlockPods(t *testing.T) {
	unreadable := apiserver.On("list|watch", "controllerrevisions")
	for name, test := range map[string]struct {
		match   apiserver.Match
		err     *apierrors.StatusError
		writes  int
		message string
	}{
		"list is forbidden":  {unreadable, denied("the role is an older one"), 0, "cannot list controllerrevisions"},
		"write is forbidden": {revisionWrite, denied("the role is an older one"), 2, "cannot keep the history"},
		"broken webhook":     {revisionWrite, apierrors.NewInternalError(errors.New("webhook failed")), 2 * troubleAfter, "cannot keep the history"},
	} {
		t.Run(name, func(t *testing.T) {
			eachStrategy(t, func(t *testing.T, w *world, kind kinds.Kind, image func(string)) {
				w.historyless = true
				allow := w.deny(test.err, test.match)
				foo := w.create(kind, "default", "foo", ofAnyKind(kind, "a"))
				w.start()
				w.converges()
				w.staysQuiet()
				image("b")
				w.converges()
				w.staysQuiet()
				if tried := w.Requests(revisionWrite); len(tried) != test.writes {
					t.Errorf("%d revision writes, want %d: %v", len(tried), test.writes, tried)
				}
				if lines := w.logged(test.message); len(lines) != 1 {
					t.Errorf("log: %q, want one line with %q", lines, test.message)
				}
				w.historyless = false
				allow()
				if test.writes > 0 {
					image("c")
				}
				w.converges()
				w.staysQuiet()
				if hashes, _ := w.history(foo); len(hashes) != 1 {
					t.Errorf("the history has the template hashes %v, want one", hashes)
				}
			})
		})
	}
}

// If someone else has created a revision with the wanted name, the loop does not touch it.
func TestForeignRevision(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), template("a")))
		name := plan.RevisionName("foo", foo.GetUID(), kinds.TemplateHash(kinds.ImoocPod(), foo))
		w.CreateYAML("{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: " + name + "}, revision: 7}")
		theirs := w.Get("controllerrevisions", "default", name)
		w.start()
		w.historyless = true
		w.converges()
		w.staysQuiet()
		if now := w.Get("controllerrevisions", "default", name); now.GetResourceVersion() != theirs.GetResourceVersion() {
			t.Error("the foreign revision was changed")
		}
		if lines := w.logged("ControllerRevision " + name + " already exists"); len(lines) != 1 {
			t.Errorf("log lines about the foreign revision: %q, want one", lines)
		}
	})
}

// The loop recreates a deleted revision and restores removed labels. If someone changed a revision
// number, the current template still gets the highest number.
func TestChangedRevisionsAreRepaired(t *testing.T) {
	eachStrategy(t, func(t *testing.T, w *world, kind kinds.Kind, image func(string)) {
		foo := w.create(kind, "default", "foo", ofAnyKind(kind, "a"))
		name := plan.RevisionName("foo", foo.GetUID(), kinds.TemplateHash(kind, foo))
		w.start()
		w.converges()
		w.Delete("controllerrevisions", "default", name)
		w.converges()
		w.Update("controllerrevisions", "default", name, func(r *unstructured.Unstructured) { r.SetLabels(nil) })
		w.until(func() string {
			if r := w.Get("controllerrevisions", "default", name); r.GetLabels()[apis.LabelOwner] != string(foo.GetUID()) {
				return fmt.Sprintf("the labels of the revision are %v, want the UID of foo in them", r.GetLabels())
			}
			return ""
		})
		w.staysQuiet()
		image("b")
		w.converges()
		w.Update("controllerrevisions", "default", name, func(r *unstructured.Unstructured) { r.Object["revision"] = int64(9) })
		w.converges()
		w.staysQuiet()
		if _, numbers := w.history(foo); !slices.Equal(numbers, []int64{9, 10}) {
			t.Errorf("revision numbers = %v, want 9 and 10", numbers)
		}
	})
}

// The loop keeps the history of a large object, although the cache has only an outline of the object.
func TestHistoryOfALargeObject(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(2), template("a")))
		w.set(kind, "default", "foo", strings.Repeat("x", maxCached), "spec", "note")
		w.start()
		for _, image := range []string{"a", "b", "a"} {
			w.set(kind, "default", "foo", template(image), "spec", "template")
			w.converges()
		}
		w.staysQuiet()
		if hashes, numbers := w.history(foo); len(hashes) != 2 || hashes[1] != kinds.TemplateHash(kind, foo) || numbers[1] != 3 {
			t.Errorf("the history has the template hashes %v with the numbers %v, want 2, the newest with the current template and number 3", hashes, numbers)
		}
	})
}

// Two concurrent loops write one history, even if their caches are out of date.
func TestTwoLoopsKeepOneHistory(t *testing.T) {
	eachStrategy(t, func(t *testing.T, w *world, kind kinds.Kind, image func(string)) {
		w.check = func(is request) { // checkRequest can check the writes of pods only if one loop runs
			if is.Verb == "get" || revisionWrite(is.Request) {
				w.checkRequest(is)
			}
		}
		foo := w.create(kind, "default", "foo", ofAnyKind(kind, "a"))
		w.start()
		first := w.stop
		w.start()
		second := w.stop
		w.stop = func() { first(); second() }
		w.converges()
		for _, late := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond, time.Second} {
			for _, name := range []string{"b", "c", "a", "b", "a"} {
				w.Stall("pods", "deployments", "controllerrevisions")
				image(name)
				w.passes(late)
				w.Stall()
			}
			w.converges()
		}
		if hashes, numbers := w.history(foo); len(hashes) > 3 || hashes[len(hashes)-1] != kinds.TemplateHash(kind, foo) {
			t.Errorf("the history has the template hashes %v with the numbers %v, want at most 3, the newest with the current template", hashes, numbers)
		}
	})
}
