package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Driver acts as the user. It creates the ImoocPod foo, and changes its replicas, template, and
// removed slots. It records the requested states with their times, so that every write of a
// controller can be compared with the state that was wanted at that time.
type Driver struct {
	// UID is the UID of foo, which Create sets.
	UID types.UID

	t         *testing.T
	cluster   *Cluster
	namespace string
	w         *Witness

	mu     sync.Mutex
	wanted []want
	// wrong describes the unwanted writes.
	wrong []string

	closed  bool
	running sync.WaitGroup
}

// want is a requested state, which takes effect between sent and acknowledged. template is the hash
// of the pod template, or "" until the hash is known.
type want struct {
	replicas           int32
	removed            []int32
	template           string
	sent, acknowledged time.Time
}

// wants reports whether a slot (the number of a pod) is one of the w.replicas lowest slots that are
// not removed.
func (w want) wants(slot int32) bool {
	below := slot
	for _, removed := range w.removed {
		if removed == slot {
			return false
		}
		if removed < slot {
			below--
		}
	}
	return slot >= 0 && below < w.replicas
}

// NewDriver returns a driver for a namespace. Unwanted writes make the test fail at its end.
func (c *Cluster) NewDriver(t *testing.T, namespace string, w *Witness) *Driver {
	d := &Driver{t: t, cluster: c, namespace: namespace, w: w}
	t.Cleanup(func() {
		d.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, wrong := range d.wrong {
			t.Error(wrong)
		}
	})
	return d
}

// Go runs f in a goroutine, for which Close waits. After Close, Go does nothing.
func (d *Driver) Go(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running.Go(f)
	}
}

// Close waits for the goroutines started by Go.
func (d *Driver) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.running.Wait()
}

// Create creates foo. The optional template holds fields of its pod template.
func (d *Driver) Create(n int32, template ...map[string]any) {
	d.t.Helper()
	spec := map[string]any{"replicas": int64(n)}
	for _, fields := range template {
		spec["template"] = fields
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kinds.ImoocPod().GroupVersionKind())
	obj.SetName("foo")
	d.ask(want{replicas: n}, func() (string, error) {
		made, err := d.cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(d.namespace).Create(d.t.Context(), obj, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		d.UID = made.GetUID()
		return kinds.TemplateHash(kinds.ImoocPod(), made), nil
	})
}

// SetImage changes the image in foo's pod template.
func (d *Driver) SetImage(image string) {
	d.t.Helper()
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}}}`)
	last := d.last()
	d.ask(want{replicas: last.replicas, removed: last.removed}, func() (string, error) {
		changed, err := d.cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(d.namespace).
			Patch(d.t.Context(), "foo", types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return "", err
		}
		return kinds.TemplateHash(kinds.ImoocPod(), changed), nil
	})
}

func (d *Driver) last() want {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wanted[len(d.wanted)-1]
}

// Scale sets the replicas of foo, and records them as wanted.
func (d *Driver) Scale(n int32) {
	d.t.Helper()
	objects := d.cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(d.namespace)
	last := d.last()
	d.ask(want{replicas: n, removed: last.removed, template: last.template}, func() (string, error) {
		_, err := discover.SetScale(d.t.Context(), objects, "foo", n, "", nil)
		return last.template, err
	})
}

// Removed returns the removed slots of foo.
func (d *Driver) Removed() []int32 { return d.last().removed }

// Wants reports whether a slot is currently wanted.
func (d *Driver) Wants(slot int32) bool { return d.last().wants(slot) }

// SetSlots sets the replicas and the removed slots with one request, and records both as wanted.
// The slots must be sorted and unique.
func (d *Driver) SetSlots(n int32, removed []int32) {
	d.t.Helper()
	var slots any
	if len(removed) > 0 {
		slots = strings.Trim(strings.ReplaceAll(fmt.Sprint(removed), " ", ","), "[]")
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{apis.AnnotationRemovedSlots: slots}}, "spec": map[string]any{"replicas": n},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	last := d.last()
	d.ask(want{replicas: n, removed: removed, template: last.template}, func() (string, error) {
		_, err := d.cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(d.namespace).
			Patch(d.t.Context(), "foo", types.MergePatchType, patch, metav1.PatchOptions{})
		return last.template, err
	})
}

// ask records a requested state and sends the request. If the template changes, its hash is known
// only after the response.
func (d *Driver) ask(wanted want, send func() (template string, err error)) {
	d.t.Helper()
	d.mu.Lock()
	wanted.sent = time.Now()
	d.wanted = append(d.wanted, wanted)
	last := len(d.wanted) - 1
	d.mu.Unlock()
	template, err := send()
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.wanted[last].template, d.wanted[last].acknowledged = template, time.Now()
	d.mu.Unlock()
}

// mostWanted returns the highest replica count that was wanted in the interval.
func (d *Driver) mostWanted(from, to time.Time) (most int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, w := range d.wanted {
		if !d.over(i, from) && !w.sent.After(to) {
			most = max(most, w.replicas)
		}
	}
	return most
}

// SlotsEverWanted returns the number of different slots that were ever wanted.
func (d *Driver) SlotsEverWanted() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	slots := map[int32]bool{}
	for _, w := range d.wanted {
		for slot, n := int32(0), int32(0); n < w.replicas; slot++ {
			if w.wants(slot) {
				slots[slot] = true
				n++
			}
		}
	}
	return len(slots)
}

// wantedSlot reports whether a slot was wanted at any time in the interval, and whether it was
// wanted all the time.
func (d *Driver) wantedSlot(slot int32, from, to time.Time) (ever, always bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	always = true
	for i, w := range d.wanted {
		if !d.over(i, from) && !w.sent.After(to) {
			ever, always = ever || w.wants(slot), always && w.wants(slot)
		}
	}
	return ever, always
}

// outdated reports whether any template that was wanted in the interval differs from the template of
// the pod. A pod without a template hash is never outdated.
func (d *Driver) outdated(pod *corev1.Pod, from, to time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := pod.Labels[apis.LabelTemplateHash]
	for i, w := range d.wanted {
		if hash != "" && w.template != hash && !d.over(i, from) && !w.sent.After(to) {
			return true
		}
	}
	return false
}

// over reports whether the i-th requested state was replaced before the given time.
func (d *Driver) over(i int, from time.Time) bool {
	return i+1 < len(d.wanted) && !d.wanted[i+1].acknowledged.IsZero() && d.wanted[i+1].acknowledged.Before(from)
}

// Blame records an unwanted write.
func (d *Driver) Blame(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
}

// Check returns an interceptor for one controller. It compares each write with the states that were wanted
// between the controller's second-to-last read of foo and the write, because the controller may read again
// while writes are in flight. It blames creates of pods in unwanted slots or beyond the wanted number
// (I1), deletes of pods in slots that were wanted all the time (I2), and writes to objects that are not
// foo's or without a required precondition (I4). It also blames a controller that writes before it reads
// foo, or writes the same pod twice after one read. docs/reliability.md lists the invariants.
//
// If excess is set, creates beyond the wanted number are not blamed, but counted in excess.
func (d *Driver) Check(excess *atomic.Int64) Interceptor {
	g := &glance{}
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/imoocpods/foo"):
			g.looks()
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
			return d.checkCreate(r, next, g, excess)
		case strings.Contains(r.URL.Path, "/controllerrevisions"):
			if IsWrite(r) {
				d.checkRevision(r, g)
			}
		case r.Method == http.MethodDelete:
			d.checkDelete(r, g)
		case IsWrite(r) && !strings.HasSuffix(r.URL.Path, "/imoocpods/foo/status") && !strings.Contains(r.URL.Path, "/pods/foo-"):
			d.Blame("I4: %s %s", r.Method, r.URL.Path)
		}
		return next.RoundTrip(r)
	}
}

// glance records when a controller read foo, and which pods it has written since then.
type glance struct {
	mu         sync.Mutex
	at, before time.Time // the last read and the second-to-last read; zero if foo was never read
	written    map[string]bool
}

func (g *glance) looks() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before = g.at; g.at.IsZero() {
		g.before = time.Now()
	}
	g.at, g.written = time.Now(), map[string]bool{}
}

// writes records that the controller writes a pod. It returns the start of the interval in which a
// requested state must allow the write.
func (g *glance) writes(d *Driver, r *http.Request, pod string) (from time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsZero() {
		d.Blame("%s %s without a look at foo", r.Method, r.URL.Path)
		return time.Now()
	}
	if g.written[pod] {
		d.Blame("pod %s was written twice on one look at foo, by %s", pod, r.Method)
	}
	g.written[pod] = true
	return g.before
}

func (g *glance) wrote(pod string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written[pod]
}

func (d *Driver) checkCreate(r *http.Request, next http.RoundTripper, g *glance, excess *atomic.Int64) (*http.Response, error) {
	var pod corev1.Pod
	if err := decode(r, &pod); err != nil {
		d.Blame("%s %s: %v", r.Method, r.URL.Path, err)
		return next.RoundTrip(r)
	}
	from := g.writes(d, r, pod.Name)
	slot, err := strconv.ParseInt(pod.Labels[apis.LabelSlot], 10, 32)
	if ever, _ := d.wantedSlot(int32(slot), from, time.Now()); err != nil || !ever {
		d.Blame("I1: pod %s was created in slot %q, which was not wanted", pod.Name, pod.Labels[apis.LabelSlot])
	}
	live, err := d.live(r.Context(), from, g, pod.Name)
	if err != nil {
		return next.RoundTrip(r) // the controller was killed
	}
	resp, err := next.RoundTrip(r)
	// If the name already exists, the create is harmless.
	most := d.mostWanted(from, time.Now())
	switch {
	case err != nil || resp.StatusCode != http.StatusCreated || live < int(most):
	case excess != nil:
		excess.Add(1)
	default:
		d.Blame("I1: pod %s was created while %d were live and at most %d were wanted", pod.Name, live, most)
	}
	return resp, err
}

// live counts foo's unfinished pods that the controller could see at the given time, or has written
// since its last read of foo. It does not count a pod that already has the name of the created pod,
// because either another controller is deleting that pod, or the server rejects the create.
func (d *Driver) live(ctx context.Context, from time.Time, g *glance, created string) (n int, err error) {
	pods, err := d.cluster.Core.Pods(d.namespace).List(ctx, metav1.ListOptions{LabelSelector: apis.LabelOwner})
	if err != nil {
		return 0, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		ref := metav1.GetControllerOf(pod)
		if ref == nil || ref.UID != d.UID || finished(pod) || bypassable(pod) || pod.Name == created {
			continue
		}
		if d.w.labelledBefore(pod.UID, from) || g.wrote(pod.Name) {
			n++
		}
	}
	return n, nil
}

func (d *Driver) checkDelete(r *http.Request, g *glance) {
	from, to := g.writes(d, r, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]), time.Now()
	var options metav1.DeleteOptions
	if err := decode(r, &options); err != nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		d.Blame("I4: %s %s without the UID as precondition (%v)", r.Method, r.URL.Path, err)
		return
	}
	pod := d.w.Pod(*options.Preconditions.UID)
	if pod == nil || finished(pod) || pod.DeletionTimestamp != nil {
		return // the witness has seen more than the controller, so the delete is harmless
	}
	if ref := metav1.GetControllerOf(pod); ref == nil || ref.UID != d.UID {
		d.Blame("I4: pod %s, which is not foo's, was deleted", pod.Name)
		return
	}
	slot, err := strconv.ParseInt(pod.Labels[apis.LabelSlot], 10, 32)
	if _, always := d.wantedSlot(int32(slot), from, to); err == nil && always && !d.outdated(pod, from, to) {
		d.Blame("I2: pod %s was deleted, whose slot was wanted all the time", pod.Name)
	}
}

// checkRevision blames writes before a read of foo, and changes without a resourceVersion.
func (d *Driver) checkRevision(r *http.Request, g *glance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsZero() {
		d.Blame("%s %s without a look at foo", r.Method, r.URL.Path)
	}
	if r.Method == http.MethodPost {
		return
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || !bytes.Contains(body, []byte(`"resourceVersion":`)) {
		d.Blame("I4: %s %s without the resourceVersion as precondition (%v)", r.Method, r.URL.Path, err)
	}
}

// decode decodes the JSON or protobuf body of a request, and restores it.
func decode(r *http.Request, into runtime.Object) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, into)
	return err
}
