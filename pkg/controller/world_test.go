package controller

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// patience is the maximum time for a world to converge, on the fake clock. It exceeds the
// longest back-off and the time after which a terminating pod counts as stuck.
const patience = 15 * time.Minute

// writeTakes is the duration of a write on the server. With zero, two writes would never be in
// flight at the same time.
const writeTakes = time.Millisecond

// world is an in-memory API server and the real loop, in a synctest bubble with a fake clock. It checks every write of
// the loop against the invariants in docs/reliability.md.
type world struct {
	testing.TB
	*apiserver.Server
	// transport is the transport of the next loop to start.
	transport http.RoundTripper
	kinds     []kinds.Kind
	c         *Controller
	stop      func()
	// check checks a request of the loop on one object before the request takes effect. By default,
	// check is the method checkRequest.
	check func(request)
	// accept undoes the last call to refuse. It is nil if there is nothing to undo.
	accept func()

	linesMu sync.Mutex
	lines   []string

	// mu guards the following fields.
	mu sync.Mutex

	// wanted maps an object to its desired states, oldest first. lastRead maps an object to the time
	// of the loop's last live read. written maps an object to the names of the pods that the loop has
	// created or deleted since then.
	wanted   map[types.UID][]want
	lastRead map[types.UID]time.Time
	written  map[types.UID][]string
	// taken maps a pod to the time when someone other than the loop last changed it. shown holds
	// the creation times of pods that the loop did not create.
	taken, shown map[types.UID]time.Time
	// formerLabels lists the name labels that the CRD of Worker declared earlier. Until the loop has
	// seen a new label, it uses the former label, which affects the template hash.
	formerLabels []string
	// historyless means that no revisions are expected, because they cannot be read or written.
	historyless bool
	// paused maps an object to the time when its pause last changed.
	paused     map[types.UID]time.Time
	violations []string
}

// request is a request of the loop on one object, before the request takes effect.
type request struct {
	apiserver.Request
	// in reads objects while the server is locked.
	in apiserver.Actor
	// before and after are the states of the object before and after the request. They are equal for
	// a read. before is nil for a new object, and after is nil for a delete.
	before, after *unstructured.Unstructured
}

// want is a desired state of an object: n pods, and the removed slots. since is the time when this state
// began. If ok is false, the spec is invalid.
type want struct {
	since   time.Time
	n       int64
	removed slots.Removed
	ok      bool
}

func (want want) wants(slot slots.Slot) bool { return want.removed.Wants(int32(want.n), slot) }

// inWorld runs a test in a world. A violation of an invariant fails the test.
func inWorld(t *testing.T, kinds []kinds.Kind, do func(w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { runInWorld(t, kinds, do) })
}

func runInWorld(t testing.TB, kinds []kinds.Kind, do func(w *world)) {
	w := newWorld(t, kinds)
	defer func() {
		w.end()
		for _, violation := range w.violations {
			t.Error(violation)
		}
		if t.Failed() {
			t.Log(w.story())
		}
	}()
	do(w)
}

// openCRD returns the CRD of a shipped kind without a schema, so that objects can be invalid, as if they
// were older than a schema rule.
func openCRD(kind kinds.Kind) string {
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s}
  versions: [{name: %[4]s, served: true, storage: true, subresources: {status: {}}}]
`
	return fmt.Sprintf(text, kind.Resource.Resource, kind.Resource.Group, kind.Kind, kind.Resource.Version)
}

func newWorld(t testing.TB, kinds []kinds.Kind) *world {
	w := &world{
		TB: t, Server: apiserver.New(t), kinds: kinds,
		wanted: map[types.UID][]want{}, lastRead: map[types.UID]time.Time{}, written: map[types.UID][]string{},
		taken: map[types.UID]time.Time{}, shown: map[types.UID]time.Time{},
		paused: map[types.UID]time.Time{},
	}
	for _, kind := range kinds {
		if kind.Shipped() {
			w.CreateYAML(openCRD(kind))
		}
	}
	w.ManageOnly("deployments") // the loop uses server-side apply only for Deployments
	play.Kubelet(w.Server)
	play.ReplicaSets(w.Server)
	play.Deployments(w.Server)
	w.transport = w.Server
	w.check = w.checkRequest
	w.OnRequest(func(in apiserver.Actor, r apiserver.Request, c apiserver.Change) {
		w.check(request{r, in, c.Before, c.After})
	})
	w.Server.Fail(apiserver.Writes, apiserver.Fault{Delay: writeTakes})
	return w
}

// newLoop returns a loop for all namespaces. The functions in change edit its options.
func (w *world) newLoop(change ...func(*Options)) *Controller {
	w.Helper()
	config := w.RESTConfig()
	config.Transport = w.transport
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	opts := Options{
		Clients: strategy.Clients{Dynamic: objects, Core: core}, Workers: 2, Log: w.log, Metrics: metrics.New(""),
		Selector: labels.Everything(), Clock: clock.RealClock{},
	}
	for _, kind := range w.kinds {
		if kind.Shipped() {
			opts.Kinds = append(opts.Kinds, kind)
		} else {
			opts.Declared = Declarations{All: true}
		}
	}
	for _, change := range change {
		change(&opts)
	}
	return New(opts)
}

// start starts a new loop, which has not read any object yet.
func (w *world) start(change ...func(*Options)) {
	w.Helper()
	w.mu.Lock()
	clear(w.lastRead)
	clear(w.written)
	w.mu.Unlock()
	c := w.newLoop(change...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Run(ctx); err != nil && ctx.Err() == nil {
			w.Errorf("Run returned an error: %v", err)
		}
	}()
	w.c = c
	w.stop = func() { cancel(); <-ended }
}

func (w *world) end() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

func (w *world) log(l report.Line) {
	w.linesMu.Lock()
	defer w.linesMu.Unlock()
	w.lines = append(w.lines, l.Text)
}

// logged returns the lines of the log that contain a text.
func (w *world) logged(text string) []string {
	w.linesMu.Lock()
	defer w.linesMu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.lines), func(line string) bool { return !strings.Contains(line, text) })
}

// passes waits for a duration on the fake clock, and then until all goroutines are blocked.
func (*world) passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until waits until mismatch returns "", and fails the test after too much time or too many writes.
func (w *world) until(mismatch func() string) {
	w.Helper()
	before := len(w.Requests(apiserver.Writes))
	for end := time.Now().Add(patience); ; {
		synctest.Wait()
		what := mismatch()
		if what == "" {
			return
		}
		if writes := len(w.Requests(apiserver.Writes)) - before; time.Now().After(end) || writes > 600 {
			w.Fatalf("gave up after %s and %d writes: %s", patience-time.Until(end).Round(time.Second), writes, what)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// story describes the writes, the log, and the objects, to explain a failure.
func (w *world) story() string {
	var b strings.Builder
	writes := w.Requests(apiserver.Writes)
	for i, write := range writes {
		if i >= 40 && i < len(writes)-20 {
			continue
		}
		fmt.Fprintf(&b, "%s %.200s\n", write.At.Format("15:04:05.000"), write)
	}
	fmt.Fprintf(&b, "%d writes. The log:\n", len(writes))
	lines := w.logged("")
	for _, line := range lines[:min(len(lines), 20)] {
		fmt.Fprintf(&b, "  %.300s\n", line)
	}
	for _, kind := range w.kinds {
		for _, obj := range w.List(kind.CRD(), "") {
			text, _ := yaml.Marshal(map[string]any{"metadata": obj.Object["metadata"], "status": obj.Object["status"]})
			fmt.Fprintf(&b, "%s %s/%s\n%.1500s\n", kind, obj.GetNamespace(), obj.GetName(), text)
		}
	}
	for _, pod := range w.List("pods", "") {
		fmt.Fprintf(&b, "pod %s/%s %v owner %v deleted %v: %v\n", pod.GetNamespace(), pod.GetName(), pod.GetLabels(), metav1.GetControllerOf(pod), pod.GetDeletionTimestamp(), pod.Object["status"])
	}
	return b.String()
}

// create stores an object of a kind. fields may contain spec, status, and metadata.
func (w *world) create(kind kinds.Kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(obj.Object, fields)
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetNamespace(namespace)
	obj.SetName(name)
	made := w.Create(obj)
	w.note(kind, made)
	return made
}

// change edits an object as a user, but skips validation, and records the new desired state.
func (w *world) change(kind kinds.Kind, namespace, name string, change func(*unstructured.Unstructured)) {
	if now := w.Update(kind.CRD(), namespace, name, change); now != nil {
		w.note(kind, now)
	}
}

func (w *world) set(kind kinds.Kind, namespace, name string, value any, path ...string) {
	w.Helper()
	w.change(kind, namespace, name, func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			w.Error(err)
		}
	})
}

// note records the current desired state of an object.
func (w *world) note(kind kinds.Kind, obj *unstructured.Unstructured) {
	now := desired(w.Actor, kind, obj)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted[obj.GetUID()] = append(w.wanted[obj.GetUID()], now)
}

func desired(in apiserver.Actor, kind kinds.Kind, obj *unstructured.Unstructured) want {
	n, ok := count(in, kind, obj)
	removed, _ := slots.ParseRemoved(obj.GetAnnotations()[apis.AnnotationRemovedSlots]) // count checks for misprint
	return want{since: time.Now(), n: n, ok: ok, removed: removed}
}

// misprint is an invalid value of the annotation for removed slots.
const misprint = "1;2"

// count returns how many pods an object asks for. A missing count means one. ok is false if the count
// or, with StrategyPods, the list of removed slots is invalid.
func count(in apiserver.Actor, kind kinds.Kind, obj *unstructured.Unstructured) (n int64, ok bool) {
	if kind.Mapping.Strategy == kinds.StrategyNodes {
		return int64(len(in.List("nodes", ""))), true
	}
	if kind.Mapping.Strategy == kinds.StrategyPods && obj.GetAnnotations()[apis.AnnotationRemovedSlots] == misprint {
		return 0, false
	}
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, kind.ReplicasPath...)
	if err == nil && !found {
		return 1, true
	}
	n, ok = value.(int64)
	return n, ok && n >= 0 && n <= math.MaxInt32
}

// between returns the smallest and the largest number of pods that an object asked for since the
// loop last read it live. ok is false if its spec was invalid the whole time.
func (w *world) between(uid types.UID) (least, most int64, ok bool) {
	least = math.MaxInt64
	for _, want := range w.inForce(uid) {
		if want.ok {
			least, most, ok = min(least, want.n), max(most, want.n), true
		}
	}
	return least, most, ok
}

// inForce lists the desired states of an object since the loop last read it live.
func (w *world) inForce(uid types.UID) []want {
	from, looked := w.lastRead[uid]
	all := w.wanted[uid]
	for looked && len(all) > 1 && all[1].since.Before(from) {
		all = all[1:]
	}
	return all
}

func (w *world) addViolation(format string, args ...any) {
	if len(w.violations) < 5 {
		w.violations = append(w.violations, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

// take records that someone other than the loop changed a pod.
func (w *world) take(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken[uid] = time.Now()
}

// owner returns the controller of obj, with its kind, or nil if the loop does not reconcile that
// controller.
func (w *world) owner(in apiserver.Actor, obj *unstructured.Unstructured) (kinds.Kind, *unstructured.Unstructured) {
	ref := metav1.GetControllerOf(obj)
	for _, kind := range w.kinds {
		if ref != nil && kind.Kind == ref.Kind {
			if obj := in.Get(kind.CRD(), obj.GetNamespace(), ref.Name); obj != nil && obj.GetUID() == ref.UID {
				return kind, obj
			}
		}
	}
	return kinds.Kind{}, nil
}

// checkRequest checks a request of the loop against the invariants.
func (w *world) checkRequest(is request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is.Verb == "get" {
		w.lastRead[is.after.GetUID()] = time.Now()
		delete(w.written, is.after.GetUID())
		return
	}
	obj := is.after
	if obj == nil {
		obj = is.before
	}
	kind, owner := w.owner(is.in, obj)
	switch is.Resource {
	case "events":
	case "pods":
		if owner == nil || kind.Mapping.Strategy == kinds.StrategyDeployment {
			w.addViolation("I4: %s: the loop does not own the pod", is)
			return
		}
		w.checkPause(is, owner)
		switch is.Verb {
		case "create":
			w.checkRead(is, owner, obj)
			w.checkCreate(is, kind, owner)
		case "delete":
			w.checkRead(is, owner, obj)
			w.checkDelete(is, kind, owner)
		default:
			w.checkLabels(is)
		}
	case "deployments":
		if owner == nil || kind.Mapping.Strategy != kinds.StrategyDeployment {
			w.addViolation("I4: %s: the loop does not own the Deployment", is)
			return
		}
		w.checkPause(is, owner)
		if is.before != nil {
			selector, _, _ := unstructured.NestedStringMap(is.before.Object, "spec", "selector", "matchLabels")
			if selector[apis.LabelOwner] != string(owner.GetUID()) {
				w.addViolation("I4: %s: someone else created this Deployment for the same owner", is)
			}
		}
		if _, _, ok := w.between(owner.GetUID()); !ok {
			w.addViolation("%s for an object with an invalid spec", is)
		}
		if isApply(is.Request) {
			w.checkRecorded(is, owner, is.after.GetAnnotations()[apis.LabelTemplateHash])
		}
	case "controllerrevisions":
		if owner != nil {
			w.checkPause(is, owner)
		}
		w.checkRevision(is, kind, owner)
	default:
		w.checkStatus(is)
	}
}

// checkPause checks that no child of a paused object is written after the loop has seen the pause or
// should have seen it.
func (w *world) checkPause(is request, owner *unstructured.Unstructured) {
	since, known := w.paused[owner.GetUID()]
	pause := apis.ReadPause(owner.GetAnnotations())
	seen := w.lastRead[owner.GetUID()].After(since) || time.Since(since) > 2*liveReadInterval
	if known && seen && owner.GetDeletionTimestamp() == nil && pause.Active(time.Now()) {
		w.addViolation("%s for an object that is %s, since %s", is, pause, since.Format("15:04:05.000"))
	}
}

// checkRead checks that the loop has read the owner of a pod before it creates or deletes the pod, and that it
// writes each pod only once per read.
func (w *world) checkRead(is request, owner, pod *unstructured.Unstructured) {
	uid := owner.GetUID()
	if _, ever := w.lastRead[uid]; !ever {
		w.addViolation("%s: the loop has not read the owner", is)
	}
	if slices.Contains(w.written[uid], pod.GetName()) {
		w.addViolation("%s: the loop has written this pod since its last read of the owner", is)
	}
	w.written[uid] = append(w.written[uid], pod.GetName())
}

// pause pauses an object for a duration. A duration of zero resumes it.
func (w *world) pause(kind kinds.Kind, namespace, name string, length time.Duration) {
	w.Update(kind.CRD(), namespace, name, func(obj *unstructured.Unstructured) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.paused[obj.GetUID()] = time.Now()
		annotations := maps.Clone(obj.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[apis.AnnotationPausedUntil], annotations[apis.AnnotationPausedBy] = time.Now().Add(length).Format(time.RFC3339), "alice"
		if length == 0 {
			delete(annotations, apis.AnnotationPausedUntil)
			delete(annotations, apis.AnnotationPausedBy)
		}
		obj.SetAnnotations(annotations)
	})
}

// mine lists an object's pods, except pods that others created after the loop last read the object live.
func (w *world) mine(in apiserver.Actor, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(children(in, owner), func(pod *unstructured.Unstructured) bool {
		shown, ok := w.shown[pod.GetUID()]
		return ok && !shown.Before(w.lastRead[owner.GetUID()])
	})
}

// children lists the pods of an object, with or without labels.
func children(in apiserver.Actor, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(in.List("pods", owner.GetNamespace()), func(pod *unstructured.Unstructured) bool {
		return !metav1.IsControlledBy(pod, owner)
	})
}

func hasEnded(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)
}

func ready(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

// lost reports whether the grace period of a terminating pod ended at least five minutes ago.
func lost(pod *unstructured.Unstructured) bool {
	at := pod.GetDeletionTimestamp()
	return at != nil && !time.Now().Before(at.Add(5*time.Minute))
}

// checkCreate checks that the loop has just read the owner of a new pod. Except with StrategyNodes, the slot of the pod
// must be wanted, and fewer pods than wanted must exist. Finished and lost pods (see lost) do not count.
func (w *world) checkCreate(is request, kind kinds.Kind, owner *unstructured.Unstructured) {
	if looked, ever := w.lastRead[owner.GetUID()]; !ever || time.Since(looked) > strategy.Slice+time.Second {
		w.addViolation("%s: the loop has not read the owner just before (last read: %s)", is, looked.Format(time.TimeOnly))
	}
	_, most, ok := w.between(owner.GetUID())
	if !ok {
		w.addViolation("%s for an object with an invalid spec", is)
		return
	}
	w.checkRecorded(is, owner, is.after.GetLabels()[apis.LabelTemplateHash])
	if kind.Mapping.Strategy == kinds.StrategyNodes {
		return
	}
	if slot := slotOf(is.after, owner); !w.everWanted(owner, slot) {
		w.addViolation("I1: %s in slot %s, which is not wanted", is, slot)
	}
	live := int64(0)
	for _, pod := range w.mine(is.in, owner) {
		if !hasEnded(pod) && !lost(pod) {
			live++
		}
	}
	if live >= most {
		w.addViolation("I1: %s while %d pods are live and %d are wanted", is, live, most)
	}
}

// everWanted reports whether a slot of an object has been wanted since the loop last read the object live.
func (w *world) everWanted(owner *unstructured.Unstructured, slot slots.Slot) bool {
	return slices.ContainsFunc(w.inForce(owner.GetUID()), func(want want) bool { return want.ok && want.wants(slot) })
}

// slotOf returns the slot in the name of a pod, because users can change its labels.
func slotOf(pod, owner *unstructured.Unstructured) slots.Slot {
	replaces := types.UID(pod.GetLabels()[apis.LabelReplaces])
	if slot := slots.FromName(pod.GetName(), owner.GetName(), owner.GetUID(), replaces); slot != slots.None {
		return slot
	}
	return slots.FromName(pod.GetName(), owner.GetName(), owner.GetUID(), "")
}

// checkDelete checks that a delete has the UID of the pod as a precondition, and leaves at least the wanted number of
// active pods. The delete may leave fewer if the pod is outdated or its slot is not wanted. But if such a pod is ready,
// at most a quarter of the wanted pods, or one pod if that is more, may be unready or missing afterward.
func (w *world) checkDelete(is request, kind kinds.Kind, owner *unstructured.Unstructured) {
	gone := is.before
	if !bytes.Contains(is.Body, []byte(gone.GetUID())) {
		w.addViolation("I4: %s without the UID as a precondition", is)
	}
	if gone.GetDeletionTimestamp() != nil || hasEnded(gone) || w.takenLately(gone, owner) {
		return
	}
	least, _, ok := w.between(owner.GetUID())
	if !ok {
		w.addViolation("%s for an object with an invalid spec", is)
		return
	}
	active, readies := int64(0), int64(0)
	for _, pod := range children(is.in, owner) {
		if pod.GetUID() == gone.GetUID() {
			continue
		}
		lately := w.takenLately(pod, owner)
		if lately || pod.GetDeletionTimestamp() == nil && !hasEnded(pod) {
			active++
			if lately || ready(pod) {
				readies++
			}
		}
	}
	if active >= least || kind.Mapping.Strategy == kinds.StrategyNodes {
		return
	}
	slot := slotOf(gone, owner)
	hash := gone.GetLabels()[apis.LabelTemplateHash]
	switch outdated := hash != "" && hash != kinds.TemplateHash(kind, owner); {
	case !outdated && !slices.ContainsFunc(w.inForce(owner.GetUID()), func(want want) bool { return want.ok && !want.wants(slot) }):
		w.addViolation("I2: %s: the pod is up to date and its slot is wanted, but %d active pods of %d wanted are left", is, active, least)
	// The loop might not know yet that a new pod is ready. A pod takes a second to become ready, and its
	// creation time has no fractions of a second.
	case ready(gone) && time.Since(gone.GetCreationTimestamp().Time) > 4*time.Second && readies < least-max(1, least/4):
		w.addViolation("I2: %s: the pod is ready, but %d ready pods of %d wanted are left", is, readies, least)
	}
}

// takenLately reports whether someone other than the loop changed a pod since the loop last read its owner.
func (w *world) takenLately(pod, owner *unstructured.Unstructured) bool {
	at, taken := w.taken[pod.GetUID()]
	return taken && !at.Before(w.lastRead[owner.GetUID()])
}

// checkLabels checks that the loop changes only the labels of an existing pod.
func (w *world) checkLabels(is request) {
	before, after := is.before.DeepCopy(), is.after.DeepCopy()
	for _, pod := range []*unstructured.Unstructured{before, after} {
		pod.SetLabels(nil)
		pod.SetManagedFields(nil)
	}
	if !reflect.DeepEqual(before.Object, after.Object) {
		w.addViolation("I4: %s changes more than labels", is)
	}
}

func writtenConditions() []string {
	return []string{apis.ConditionReady, apis.ConditionProgressing, apis.ConditionReplicaFailure, apis.ConditionPaused}
}

// checkStatus checks that the loop changes only its own fields of the status.
func (w *world) checkStatus(is request) {
	i := slices.IndexFunc(w.kinds, func(k kinds.Kind) bool { return k.Resource.Resource == is.Resource })
	if i < 0 || is.Subresource != "status" || is.before == nil {
		w.addViolation("I4: %s: not a write of the status of a reconciled object", is)
		return
	}
	kind := w.kinds[i]
	at := kind.Mapping.Status
	before, foreign := foreignStatus(at, is.before)
	after, kept := foreignStatus(at, is.after)
	for name, empty := range at.Empty {
		if status, _ := before["status"].(map[string]any); status[name] != nil {
			continue
		}
		if status, _ := after["status"].(map[string]any); reflect.DeepEqual(status[name], empty) {
			delete(status, name)
		}
	}
	for _, fields := range []map[string]any{before, after} {
		if status, _ := fields["status"].(map[string]any); len(status) == 0 {
			delete(fields, "status")
		}
	}
	if !reflect.DeepEqual(before, after) {
		w.addViolation("I4: %s changes fields that the loop does not own; status before:\n%v\nafter:\n%v", is, before["status"], after["status"])
	}
	if !reflect.DeepEqual(foreign, kept) {
		w.addViolation("I4: %s changes conditions that the loop does not own; before:\n%v\nafter:\n%v", is, foreign, kept)
	}
}

// foreignStatus returns the fields and the conditions of an object that the loop does not write.
func foreignStatus(at kinds.StatusPaths, obj *unstructured.Unstructured) (fields map[string]any, conditions []any) {
	copied := obj.DeepCopy()
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	if len(at.Conditions) > 0 {
		value, _, _ := unstructured.NestedFieldNoCopy(copied.Object, at.Conditions...)
		list, _ := value.([]any)
		for _, c := range list {
			condition, _ := c.(map[string]any)
			if kind, _ := condition["type"].(string); !slices.Contains(writtenConditions(), kind) {
				conditions = append(conditions, c)
			}
		}
	}
	for _, path := range [][]string{at.Selector, at.Desired, at.Current, at.Updated, at.Ready, at.Available, at.PodNames, at.ObservedGeneration, at.Conditions} {
		if len(path) > 0 {
			unstructured.RemoveNestedField(copied.Object, path...)
		}
	}
	return copied.Object, conditions
}

// mismatch describes how an object differs from its spec, or returns "". An object with an invalid
// spec must report that in its status.
func (w *world) mismatch(kind kinds.Kind, namespace, name string) string {
	obj := w.Get(kind.CRD(), namespace, name)
	if obj == nil || obj.GetDeletionTimestamp() != nil {
		return ""
	}
	n, ok := count(w.Actor, kind, obj)
	if !ok {
		if reported := isTrue(kind, obj, apis.ConditionReplicaFailure); !reported {
			return name + " has an invalid spec, and its status does not report a failure"
		}
		return ""
	}
	if reported := isTrue(kind, obj, apis.ConditionReady); !reported {
		return name + " is not ready according to its status"
	}
	if mismatch := w.historyMismatch(kind, obj); mismatch != "" {
		return mismatch
	}
	if kind.Mapping.Strategy == kinds.StrategyDeployment {
		return w.deploymentMismatch(kind, obj, n)
	}
	filled, wanted := map[slots.Slot]bool{}, desired(w.Actor, kind, obj)
	count := int64(0)
	for _, pod := range children(w.Actor, obj) {
		if lost(pod) {
			continue
		}
		count++
		hash := pod.GetLabels()[apis.LabelTemplateHash]
		slot := slotOf(pod, obj)
		switch {
		case kind.Mapping.Strategy == kinds.StrategyPods && !wanted.wants(slot):
			return fmt.Sprintf("pod %s of %s is in a slot that is not wanted", pod.GetName(), name)
		case hasEnded(pod) || pod.GetDeletionTimestamp() != nil || !ready(pod):
			return fmt.Sprintf("pod %s of %s is not ready", pod.GetName(), name)
		case filled[slot]:
			return fmt.Sprintf("two pods of %s are in slot %s", name, slot)
		case hash != "" && hash != kinds.TemplateHash(kind, obj):
			return fmt.Sprintf("pod %s of %s has an outdated template", pod.GetName(), name)
		default:
			filled[slot] = true
		}
	}
	if count != n {
		return fmt.Sprintf("%s has %d pods, want %d", name, count, n)
	}
	for path, want := range map[*[]string]int64{
		&kind.Mapping.Status.Current: n, &kind.Mapping.Status.Ready: n, &kind.Mapping.Status.Updated: n,
		&kind.Mapping.Status.ObservedGeneration: obj.GetGeneration(),
	} {
		if len(*path) == 0 {
			continue
		}
		if got, _, _ := unstructured.NestedFieldNoCopy(obj.Object, *path...); got != want {
			return fmt.Sprintf("the status of %s has %v in .%s, want %d", name, got, strings.Join(*path, "."), want)
		}
	}
	return ""
}

func (w *world) deploymentMismatch(kind kinds.Kind, obj *unstructured.Unstructured, n int64) string {
	mine := 0
	for _, d := range w.List("deployments", obj.GetNamespace()) {
		selector, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
		if !metav1.IsControlledBy(d, obj) || selector[apis.LabelOwner] != string(obj.GetUID()) {
			continue
		}
		mine++
		name := strategyOf(w.TB, kind).Owner(kind, obj).Wanted.Name
		if replicas, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas"); d.GetName() != name || replicas != n {
			return fmt.Sprintf("Deployment %s of %s has %d replicas, want Deployment %s with %d", d.GetName(), obj.GetName(), replicas, name, n)
		}
	}
	if mine != 1 {
		return fmt.Sprintf("%s has %d Deployments, want 1", obj.GetName(), mine)
	}
	return ""
}

// isTrue reports whether a condition has a message and is true for the current generation of an object. If
// the kind has no conditions, isTrue returns true.
func isTrue(kind kinds.Kind, obj *unstructured.Unstructured, condition string) bool {
	if len(kind.Mapping.Status.Conditions) == 0 {
		return true
	}
	c := conditionOf(kind, obj, condition)
	return c.Status == metav1.ConditionTrue && c.ObservedGeneration == obj.GetGeneration() && c.Message != ""
}

// conditionOf returns a condition in the status of an object. If the condition is missing, it returns an
// empty condition.
func conditionOf(kind kinds.Kind, obj *unstructured.Unstructured, condition string) metav1.Condition {
	status := strategy.DecodeStatus(kind.Mapping.Status, obj)
	return ptr.Deref(meta.FindStatusCondition(status.Conditions, condition), metav1.Condition{})
}

// converges waits until all objects have their desired state or report why not.
func (w *world) converges() {
	w.Helper()
	w.until(func() string {
		for _, kind := range w.kinds {
			for _, obj := range w.List(kind.CRD(), "") {
				if mismatch := w.mismatch(kind, obj.GetNamespace(), obj.GetName()); mismatch != "" {
					return mismatch
				}
			}
		}
		return ""
	})
}

// reconciles returns how many reconciles of the loop have ended.
func (w *world) reconciles() (ended int64) {
	w.Helper()
	families, err := w.c.Metrics.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "imoocpod_reconciles_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			ended += int64(metric.GetCounter().GetValue())
		}
	}
	return ended
}

// staysQuiet checks that the loop writes nothing while nothing changes.
func (w *world) staysQuiet() {
	w.Helper()
	w.passes(5 * time.Second) // until events and the last status are written
	w.writesNothing(func() {
		for range 3 {
			reconciles := w.reconciles()
			for _, kind := range w.kinds {
				for _, obj := range w.List(kind.CRD(), "") {
					w.c.wake(memory.Key{Kind: kind.CRD(), Namespace: obj.GetNamespace(), Name: obj.GetName()}, false, "a test asks for it")
				}
			}
			w.passes(2 * time.Minute)
			if w.reconciles() == reconciles && len(w.List(w.kinds[0].CRD(), "")) > 0 {
				w.Errorf("no reconcile within two minutes after the objects were queued")
			}
		}
	})
}

// restartsQuietly replaces the loop with a new one, and checks that the new loop writes nothing.
func (w *world) restartsQuietly() {
	w.Helper()
	w.writesNothing(func() {
		w.end()
		w.start()
		w.passes(time.Minute)
	})
}

// writesNothing calls do, and fails the test if the loop writes anything meanwhile.
func (w *world) writesNothing(do func()) {
	w.Helper()
	before := len(w.Requests(apiserver.Writes))
	do()
	if now := w.Requests(apiserver.Writes); len(now) > before {
		w.Errorf("%d unexpected writes, such as %s", len(now)-before, now[before])
	}
}

// keepsStatus fails the test if the loop writes a status within a minute.
func (w *world) keepsStatus() {
	w.Helper()
	w.Forget()
	w.passes(time.Minute)
	for _, r := range w.Requests(apiserver.Writes) {
		if r.Subresource == "status" {
			w.Errorf("%s although nothing has changed", r)
		}
	}
}

// pod stores a ready pod that an object owns, with the name and labels for a slot. The functions in
// change edit the pod before it is stored. If a pod with the name exists, pod returns nil.
func (w *world) pod(kind kinds.Kind, owner *unstructured.Unstructured, slot slots.Slot, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	pod := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"nodeName": "node-1", "terminationGracePeriodSeconds": int64(1), "containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
		"status": running(true),
	}}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetNamespace(owner.GetNamespace())
	pod.SetName(slots.PodName(owner.GetName(), owner.GetUID(), "", slot))
	pod.SetLabels(map[string]string{
		apis.LabelOwner: string(owner.GetUID()), apis.LabelSlot: slot.String(), apis.LabelTemplateHash: kinds.TemplateHash(kind, owner),
	})
	pod.SetOwnerReferences([]metav1.OwnerReference{reference(kind, owner)})
	for _, change := range change {
		change(pod)
	}
	if w.Get("pods", pod.GetNamespace(), pod.GetName()) != nil {
		return nil
	}
	made := w.Create(pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown[made.GetUID()] = time.Now()
	return made
}

func running(ready bool) map[string]any {
	condition := map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	if ready {
		condition["status"] = "True"
	}
	return map[string]any{"phase": "Running", "conditions": []any{condition}}
}

// stick keeps a pod from terminating, as on a node that does not respond.
func stick(pod *unstructured.Unstructured) {
	pod.SetAnnotations(map[string]string{play.FateAnnotation: play.Stuck})
}

// unstick lets all stuck pods terminate.
func (w *world) unstick() {
	for _, pod := range w.List("pods", "") {
		w.Update("pods", pod.GetNamespace(), pod.GetName(), func(pod *unstructured.Unstructured) {
			pod.SetAnnotations(nil)
			pod.SetFinalizers(nil)
		})
	}
}

// declaredKind is a kind that a CRD declares.
type declaredKind struct {
	plan kinds.Strategy
	// nameLabel is the label with the object's name. required means that the schema requires .status.phase, which the
	// loop does not write. noConditions means that the status has no conditions.
	nameLabel              string
	required, noConditions bool
}

// worker returns the CRD of the kind Worker, and the kind.
func (d declaredKind) worker(t *testing.T) (crd *unstructured.Unstructured, kind kinds.Kind) {
	t.Helper()
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: workers.example.com
  annotations:
    imoocpod.dev/plan: PLAN
    imoocpod.dev/template-path: .spec.template
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Worker, plural: workers, singular: worker}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              deploymentName: {type: string}
              template:
                type: object
                properties:
                  metadata: {type: object, x-kubernetes-preserve-unknown-fields: true}
                  spec:
                    type: object
                    x-kubernetes-preserve-unknown-fields: true
                    properties: {containers: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              phase: {type: string}
              observedGeneration: {type: integer}
              replicas: {type: integer}
              readyReplicas: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status:
  conditions: [{type: Established, status: "True"}]
`
	crd = &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "PLAN", string(d.plan))), &crd.Object); err != nil {
		t.Fatal(err)
	}
	annotations := crd.GetAnnotations()
	if d.nameLabel != "" {
		annotations[kinds.AnnotationNameLabel] = d.nameLabel
	}
	if d.plan == kinds.StrategyDeployment {
		annotations[kinds.AnnotationDeploymentNamePath] = ".spec.deploymentName"
	}
	crd.SetAnnotations(annotations)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	version, _ := versions[0].(map[string]any)
	status := []string{"schema", "openAPIV3Schema", "properties", "status"}
	if d.required {
		_ = unstructured.SetNestedStringSlice(version, []string{"phase"}, append(status, "required")...)
	}
	if d.noConditions {
		unstructured.RemoveNestedField(version, append(status, "properties", "conditions")...)
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	kind, err := kinds.Declared(crd)
	if err != nil {
		t.Fatal(err)
	}
	return crd, kind
}

func isApply(r apiserver.Request) bool { return r.ContentType == string(types.ApplyPatchType) }

func template(image string, metadata ...map[string]any) map[string]any {
	fields := map[string]any{"spec": map[string]any{
		"terminationGracePeriodSeconds": int64(1),
		"containers":                    []any{map[string]any{"name": "main", "image": image}},
	}}
	for _, m := range metadata {
		fields["metadata"] = m
	}
	return fields
}

func spec(replicas any, template map[string]any) map[string]any {
	fields := map[string]any{}
	if replicas != nil {
		fields["replicas"] = replicas
	}
	if template != nil {
		fields["template"] = template
	}
	return map[string]any{"spec": fields}
}

func reference(kind kinds.Kind, obj *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(obj, kind.GroupVersionKind())
}

func set(obj *unstructured.Unstructured, value any, path ...string) {
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}
