package controller

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// script is the initial state of a random world and its events. It is drawn before the world
// starts, so that rapid can find the shortest failing script.
type script struct {
	crd declaredKind
	// late means that the loop starts before any object exists.
	late   bool
	owners []scriptedOwner
	steps  []step
}

// scriptedOwner is an object with its pods. kind, namespace, and name are indexes (see make).
type scriptedOwner struct {
	kind, namespace, name int
	count, template       string
	removed               string
	status                string
	pods                  []scriptedPod
	sidecar               bool
}

type scriptedPod struct {
	how  string
	slot int
}

// step is one event. owner and pod select an object and one of its pods, if the event needs them.
type step struct {
	what, how  string
	owner, pod int
	then       time.Duration
}

var (
	// scriptedCounts are the possible values of the count field. "" means no value.
	scriptedCounts = map[string]any{
		"": nil, "0": int64(0), "1": int64(1), "2": int64(2), "3": int64(3), "5": int64(5), "-1": int64(-1), "2^31": int64(2147483648), "2^32": int64(4294967296),
		"text": "5", "fraction": 2.5,
	}
	scriptedTemplates = map[string]any{
		"a": template("a"), "b": template("b"), "": nil,
		"bypasses":      template("a", map[string]any{"labels": map[string]any{apis.LabelReplaces: "7"}, "annotations": map[string]any{apis.LabelReplaces: "7"}}),
		"slot":          template("a", map[string]any{"labels": map[string]any{apis.LabelSlot: "7"}, "annotations": map[string]any{apis.LabelSlot: "7"}}),
		"owner":         template("a", map[string]any{"labels": map[string]any{apis.LabelOwner: "7"}, "annotations": map[string]any{apis.LabelOwner: "7"}}),
		"hash":          template("a", map[string]any{"labels": map[string]any{apis.LabelTemplateHash: "7"}, "annotations": map[string]any{apis.LabelTemplateHash: "7"}}),
		"invalid label": template("a", map[string]any{"labels": map[string]any{"tier": "-1"}}),
		"no containers": map[string]any{"spec": map[string]any{"containers": []any{}}},
		"text":          "busybox",
		"text within":   map[string]any{"metadata": "none", "spec": map[string]any{"containers": "busybox"}},
	}
	scriptedStatuses = map[string]any{
		"": nil, "null": nil, "empty": map[string]any{},
		"null conditions": map[string]any{"conditions": nil, "phase": nil},
		"foreign fields":  map[string]any{"phase": "Bound", "cloud": map[string]any{"a": []any{int64(1), nil}}},
		"wrong types":     map[string]any{"replicas": "3", "readyReplicas": 1.5, "observedGeneration": "x", "selector": int64(1)},
		"wrong counts":    map[string]any{"replicas": int64(4294967299), "readyReplicas": int64(-7), "observedGeneration": int64(99)},
		"own conditions invalid": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "", "observedGeneration": int64(1)},
			map[string]any{"type": "Progressing"},
		}},
		"no type":         map[string]any{"conditions": []any{map[string]any{"status": "True"}}},
		"same type twice": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "Ready", "status": "True"}}},
	}
	// scriptedPods are the states of pods, ordinary ones first.
	scriptedPods = []string{"ours", "outdated", "of an earlier version", "unlabeled", "another owner label", "empty owner label", "other slot",
		"replaces another pod", "finished", "terminating", "terminating slowly", "unready", "labeled but not owned", "owned by a namesake", "name taken"}
)

func drawScript(t *rapid.T) script {
	strategy := rapid.SampledFrom([]kinds.Strategy{kinds.StrategyPods, kinds.StrategyDeployment}).Draw(t, "strategy")
	counts := rapid.SampledFrom(slices.Sorted(maps.Keys(scriptedCounts)))
	templates := rapid.SampledFrom(slices.Sorted(maps.Keys(scriptedTemplates)))
	words := slices.Collect(maps.Keys(scriptedStatuses))
	for name := range foreignConditions() {
		words = append(words, "foreign "+name)
	}
	slices.Sort(words)
	statuses := rapid.SampledFrom(words)
	removed := rapid.SampledFrom([]string{"", "1", "0,2", "2,3,4,5", "99", misprint})
	s := script{
		crd: declaredKind{plan: strategy, nameLabel: rapid.SampledFrom([]string{"", "name"}).Draw(t, "name label"),
			required: rapid.Bool().Draw(t, "required field"), noConditions: rapid.IntRange(0, 4).Draw(t, "no conditions") == 4},
		late: rapid.Bool().Draw(t, "loop first"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "objects") {
		o := scriptedOwner{
			kind: rapid.IntRange(0, 1).Draw(t, "kind"), namespace: rapid.IntRange(0, 1).Draw(t, "namespace"), name: rapid.IntRange(0, 1).Draw(t, "name"),
			count: counts.Draw(t, "count"), template: templates.Draw(t, "template"), status: statuses.Draw(t, "status"),
			sidecar: rapid.Bool().Draw(t, "sidecar"), removed: removed.Draw(t, "removed"),
		}
		if strategy == kinds.StrategyPods {
			for range rapid.IntRange(0, 5).Draw(t, "pods") {
				o.pods = append(o.pods, scriptedPod{rapid.SampledFrom(scriptedPods).Draw(t, "pod"), rapid.IntRange(0, 5).Draw(t, "slot")})
			}
		}
		s.owners = append(s.owners, o)
	}
	// For each kind of step that uses the field how, this map contains a generator of the field.
	how := map[string]*rapid.Generator[string]{
		"scale": counts, "slots": removed, "template": templates, "status": statuses, "add": rapid.SampledFrom(scriptedPods),
		"refuse": rapid.SampledFrom([]string{"", "create", "patch", "apply", "delete"}),
		"pause":  rapid.SampledFrom([]string{"", "second", "minute"}),
		"label":  rapid.SampledFrom([]string{"name", "other"}),
		"lose":   rapid.SampledFrom([]string{"request", "response"}),
	}
	for range rapid.IntRange(0, 8).Draw(t, "steps") {
		st := step{
			what:  rapid.SampledFrom([]string{"pass", "scale", "template", "status", "kill", "fail", "unlabel", "hold", "add", "refuse", "restart", "label", "pause", "remove", "slots", "lose"}).Draw(t, "step"),
			owner: rapid.IntRange(0, 2).Draw(t, "of object"), pod: rapid.IntRange(0, 5).Draw(t, "pod"),
			then: rapid.SampledFrom([]time.Duration{0, time.Millisecond, 150 * time.Millisecond, time.Second, time.Minute, 7 * time.Minute}).Draw(t, "wait"),
		}
		if how := how[st.what]; how != nil {
			st.how = how.Draw(t, "how")
		}
		s.steps = append(s.steps, st)
	}
	return s
}

// In random worlds with arbitrary events, each write of the loop must keep the invariants, and an
// object that cannot converge must report why. After the faults are repaired, everything must
// converge. To repeat a failure, pass its seed as "-rapid.seed". The flag "-rapid.checks" or the
// environment variable RAPID_CHECKS sets the number of worlds to draw.
func TestArbitraryObjectsConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		if rapid.IntRange(0, sampled()-1).Draw(r, "sampled") > 0 {
			return
		}
		s := drawScript(r)
		crd, worker := s.crd.worker(t)
		both := []kinds.Kind{worker, kinds.ImoocPod()}
		if s.crd.plan == kinds.StrategyDeployment {
			both[1] = kinds.AppService()
		}
		heard := &recorder{}
		bubble.Test(t, func(t *testing.T) {
			heard.TB = t
			done := make(chan struct{})
			go func() { // Fatal ends only this goroutine
				defer close(done)
				runInWorld(heard, both, func(w *world) {
					w.Create(crd)
					s.run(w)
				})
			}()
			<-done
		})
		if heard.failed {
			r.Fatal(heard.text.String())
		}
	})
}

// recorder records the failures of a test for rapid.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	text   strings.Builder
}

func (r *recorder) Helper() {}

func (r *recorder) Log(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(&r.text, args...)
}

func (r *recorder) Error(args ...any) {
	r.Log(args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (s script) run(w *world) {
	if s.late {
		w.start()
		w.passes(time.Second)
	}
	for _, o := range s.owners {
		o.make(w)
	}
	if !s.late {
		w.start()
	}
	for _, st := range s.steps {
		st.happen(w)
		if st.then > 0 {
			w.passes(st.then)
		}
	}
	w.passes(2 * time.Minute)
	for _, kind := range w.kinds {
		for _, obj := range w.List(kind.CRD(), "") {
			w.mustReportMismatch(kind, obj)
		}
	}
	repair(w)
	w.converges()
	w.staysQuiet()
	w.restartsQuietly()
}

// ofNumber returns the object at index n in the list of all objects, with its kind. It returns nil if
// there are too few objects.
func (w *world) ofNumber(n int) (kinds.Kind, *unstructured.Unstructured) {
	i := 0
	for _, kind := range w.kinds {
		for _, obj := range w.List(kind.CRD(), "") {
			if i++; i > n {
				return kind, obj
			}
		}
	}
	return kinds.Kind{}, nil
}

func (o scriptedOwner) make(w *world) {
	kind := w.kinds[o.kind]
	namespace, name := []string{"default", "other"}[o.namespace], []string{"foo", "bar"}[o.name]
	if w.Get(kind.CRD(), namespace, name) != nil {
		return
	}
	w.create(kind, namespace, name, map[string]any{"spec": map[string]any{}})
	w.change(kind, namespace, name, func(obj *unstructured.Unstructured) {
		setCount(kind, obj, o.count)
		setTemplate(kind, obj, o.template)
		setRemoved(obj, o.removed)
		setStatus(obj, o.status)
	})
	owner := w.Get(kind.CRD(), namespace, name)
	for i, p := range o.pods {
		p.make(w, kind, owner, i)
	}
	if kind.Mapping.Strategy == kinds.StrategyDeployment && o.sidecar {
		w.deployment(kind, owner, name+"-sidecar-of-"+strings.ToLower(kind.Kind))
	}
}

func setCount(kind kinds.Kind, obj *unstructured.Unstructured, word string) {
	if value := scriptedCounts[word]; value != nil {
		set(obj, value, kind.ReplicasPath...)
	} else {
		unstructured.RemoveNestedField(obj.Object, kind.ReplicasPath...)
	}
}

func setRemoved(obj *unstructured.Unstructured, slots string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[apis.AnnotationRemovedSlots] = slots
	if slots == "" {
		delete(annotations, apis.AnnotationRemovedSlots)
	}
	obj.SetAnnotations(annotations)
}

func setTemplate(kind kinds.Kind, obj *unstructured.Unstructured, word string) {
	path := kind.Mapping.TemplatePath
	value := scriptedTemplates[word]
	if len(path) == 0 { // the kind has an image instead of a template
		path, value = kind.Mapping.ImagePath, map[string]any{"text": int64(5), "b": "b"}[word]
	}
	unstructured.RemoveNestedField(obj.Object, path...)
	if value != nil {
		set(obj, (&unstructured.Unstructured{Object: map[string]any{"is": value}}).DeepCopy().Object["is"], path...)
	}
}

func setStatus(obj *unstructured.Unstructured, word string) {
	delete(obj.Object, "status")
	if value := scriptedStatuses[word]; value != nil {
		obj.Object["status"] = (&unstructured.Unstructured{Object: map[string]any{"is": value}}).DeepCopy().Object["is"]
	} else if name, foreign := strings.CutPrefix(word, "foreign "); foreign {
		obj.Object["status"] = map[string]any{"conditions": []any{foreignConditions()[name]}}
	}
	if word == "null" {
		obj.Object["status"] = nil
	}
}

func (p scriptedPod) make(w *world, kind kinds.Kind, owner *unstructured.Unstructured, number int) {
	slot := slots.Slot(p.slot)
	relabeled := func(label, value string) func(*unstructured.Unstructured) {
		return func(pod *unstructured.Unstructured) {
			labels := pod.GetLabels()
			labels[label] = value
			pod.SetLabels(labels)
		}
	}
	change := map[string]func(*unstructured.Unstructured){
		"outdated":              relabeled(apis.LabelTemplateHash, "older"),
		"of an earlier version": earlier(fmt.Sprintf("%s-earlier-%d", owner.GetName(), number)),
		"unlabeled":             func(pod *unstructured.Unstructured) { pod.SetLabels(nil) },
		"another owner label":   relabeled(apis.LabelOwner, "another"),
		"empty owner label":     relabeled(apis.LabelOwner, ""),
		"other slot":            relabeled(apis.LabelSlot, "77"),
		"replaces another pod":  relabeled(apis.LabelReplaces, "7"),
		"finished":              func(pod *unstructured.Unstructured) { set(pod, "Failed", "status", "phase") },
		"terminating":           terminating(time.Second),
		"terminating slowly":    terminating(time.Hour),
		"unready":               func(pod *unstructured.Unstructured) { pod.Object["status"] = running(false) },
		"labeled but not owned": func(pod *unstructured.Unstructured) {
			pod.SetName(fmt.Sprintf("%s-labeled-%d", owner.GetName(), number))
			pod.SetOwnerReferences(nil)
		},
		"owned by a namesake": func(pod *unstructured.Unstructured) {
			pod.SetName(fmt.Sprintf("%s-namesake-%d", owner.GetName(), number))
			refs := pod.GetOwnerReferences()
			refs[0].UID = "somebody"
			pod.SetOwnerReferences(refs)
		},
		"name taken": func(pod *unstructured.Unstructured) { pod.SetOwnerReferences(nil) },
	}[p.how]
	if change == nil {
		change = func(*unstructured.Unstructured) {}
	}
	w.pod(kind, owner, slot, change)
}

func (st step) happen(w *world) {
	kind, owner := w.ofNumber(st.owner)
	if st.what == "restart" {
		w.end()
		w.start()
		return
	}
	if owner == nil {
		return
	}
	namespace, name := owner.GetNamespace(), owner.GetName()
	pods := children(w.Actor, owner)
	onPod := func(do func(pod *unstructured.Unstructured)) {
		if len(pods) > 0 {
			pod := pods[st.pod%len(pods)]
			w.take(pod.GetUID())
			do(pod)
		}
	}
	onPodFields := func(change func(*unstructured.Unstructured)) {
		onPod(func(pod *unstructured.Unstructured) { w.Update("pods", namespace, pod.GetName(), change) })
	}
	switch st.what {
	case "scale":
		w.change(kind, namespace, name, func(obj *unstructured.Unstructured) { setCount(kind, obj, st.how) })
	case "slots":
		w.change(kind, namespace, name, func(obj *unstructured.Unstructured) { setRemoved(obj, st.how) })
	case "remove": // removes the slot of a pod, as "scale --remove" does
		onPod(func(pod *unstructured.Unstructured) {
			slot := slots.FromName(pod.GetName(), name, owner.GetUID(), "")
			if n, ok := count(w.Actor, kind, owner); ok && n > 0 && desired(w.Actor, kind, owner).wants(slot) {
				w.change(kind, namespace, name, func(obj *unstructured.Unstructured) {
					setRemoved(obj, strings.TrimPrefix(obj.GetAnnotations()[apis.AnnotationRemovedSlots]+","+slot.String(), ","))
					set(obj, n-1, kind.ReplicasPath...)
				})
			}
		})
	case "template":
		w.change(kind, namespace, name, func(obj *unstructured.Unstructured) { setTemplate(kind, obj, st.how) })
	case "status":
		w.Update(kind.CRD(), namespace, name, func(obj *unstructured.Unstructured) { setStatus(obj, st.how) })
	case "kill":
		onPod(func(pod *unstructured.Unstructured) { w.Delete("pods", namespace, pod.GetName()) })
	case "fail":
		onPodFields(func(pod *unstructured.Unstructured) {
			pod.Object["status"] = running(false)
			set(pod, "Failed", "status", "phase")
		})
	case "unlabel":
		onPodFields(func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
	case "hold":
		onPodFields(stick)
		onPod(func(pod *unstructured.Unstructured) { w.Delete("pods", namespace, pod.GetName()) })
	case "add":
		if kind.Mapping.Strategy == kinds.StrategyPods {
			scriptedPod{st.how, st.pod}.make(w, kind, owner, 10+len(pods))
		}
	case "refuse":
		w.refuse(st.how)
	case "lose": // loses the next write of a child, or the response to this write
		children := []string{"pods", "deployments", "controllerrevisions"}
		child := func(r apiserver.Request) bool { return apiserver.Writes(r) && slices.Contains(children, r.Resource) }
		w.Server.Fail(child, apiserver.Fault{Times: 1, Drop: st.how == "request", DropAfter: st.how == "response"})
	case "label":
		w.relabelCRD(st.how)
	case "pause": // the longest pause is shorter than the wait after the last step
		w.pause(kind, namespace, name, map[string]time.Duration{"": 0, "second": time.Second, "minute": time.Minute}[st.how])
	}
}

// refuse makes the server reject a verb for pods and Deployments. With "", the server accepts all
// verbs again.
func (w *world) refuse(verb string) {
	if w.accept != nil {
		w.accept()
		w.accept = nil
	}
	if verb == "" {
		return
	}
	w.accept = w.deny(denied("a webhook denied the request"), func(r apiserver.Request) bool {
		is := r.Verb
		if isApply(r) {
			is = "apply"
		}
		return is == verb && (r.Resource == "pods" || r.Resource == "deployments")
	})
}

// deny makes the server reject the matching requests with an error until allow is called.
func (w *world) deny(err *apierrors.StatusError, match apiserver.Match) (allow func()) {
	return w.Server.Fail(match, apiserver.Fault{Err: err})
}

func denied(why string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "children"}, "a", errors.New(why))
}

// mustReportMismatch fails the test if an object has not converged and its status does not report why. It ignores all
// objects while the server rejects writes, and objects with a terminating, finished, or unready pod.
func (w *world) mustReportMismatch(kind kinds.Kind, obj *unstructured.Unstructured) {
	namespace, name := obj.GetNamespace(), obj.GetName()
	mismatch := w.mismatch(kind, namespace, name)
	if mismatch == "" {
		return
	}
	if w.accept != nil || isTrue(kind, w.Get(kind.CRD(), namespace, name), apis.ConditionReplicaFailure) {
		return
	}
	for _, pod := range children(w.Actor, obj) {
		if pod.GetDeletionTimestamp() != nil || hasEnded(pod) || !ready(pod) {
			return
		}
	}
	w.Errorf("the status does not report this problem within two minutes: %s", mismatch)
}

// repair removes the faults that keep the objects from converging.
func repair(w *world) {
	w.refuse("")
	for _, kind := range w.kinds {
		for _, obj := range w.List(kind.CRD(), "") {
			w.change(kind, obj.GetNamespace(), obj.GetName(), func(obj *unstructured.Unstructured) {
				if obj.GetAnnotations()[apis.AnnotationRemovedSlots] == misprint {
					setRemoved(obj, "")
				}
				if _, ok := count(w.Actor, kind, obj); !ok {
					setCount(kind, obj, "2")
				}
				if brokenTemplate(kind, obj) {
					setTemplate(kind, obj, "b")
				}
			})
		}
	}
	for _, pod := range w.List("pods", "") {
		if metav1.GetControllerOf(pod) == nil && !strings.Contains(pod.GetName(), "-labeled-") {
			w.Delete("pods", pod.GetNamespace(), pod.GetName())
		}
		if !ready(pod) && !hasEnded(pod) && pod.GetDeletionTimestamp() == nil {
			w.Update("pods", pod.GetNamespace(), pod.GetName(), func(pod *unstructured.Unstructured) { pod.Object["status"] = running(true) })
		}
	}
	w.unstick()
	// End the loop before objects are deleted, because the loop may be writing their children.
	w.end()
	if w.kinds[0].Mapping.Strategy == kinds.StrategyDeployment {
		for _, obj := range w.List(w.kinds[1].CRD(), "") { // two objects may want a Deployment with the same name
			if w.Get(w.kinds[0].CRD(), obj.GetNamespace(), obj.GetName()) != nil {
				w.Delete(w.kinds[1].CRD(), obj.GetNamespace(), obj.GetName())
			}
		}
	}
	w.start()
}

// brokenTemplate reports whether an object's template is invalid for pods.
func brokenTemplate(kind kinds.Kind, obj *unstructured.Unstructured) bool {
	path := kind.Mapping.TemplatePath
	if len(path) == 0 {
		path = kind.Mapping.ImagePath
	}
	value, found, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if !found {
		return kind.Mapping.Template == nil && kind.Mapping.Image == ""
	}
	for _, word := range []string{"invalid label", "no containers", "text", "text within"} {
		if reflect.DeepEqual(value, scriptedTemplates[word]) {
			return true
		}
	}
	return value == int64(5)
}
