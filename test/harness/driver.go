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

// Driver is the person at the keyboard: it creates the ImoocPod foo, scales it,
// gives it other templates, and remembers what it asked for when, so that every
// write of a loop can be held against what was wanted at that moment.
type Driver struct {
	// UID is foo's, as soon as it is made.
	UID types.UID

	t         *testing.T
	cluster   *Cluster
	namespace string
	w         *Witness

	mu sync.Mutex
	// wanted is what was asked for, in order.
	wanted []want
	// wrong lists the writes that nothing asked for.
	wrong []string

	closed  bool
	running sync.WaitGroup
}

// want is what was asked for: it is in force from some moment between sent and
// acknowledged on. A template is known by its hash; "" is not known yet.
type want struct {
	replicas           int32
	removed            []int32
	template           string
	sent, acknowledged time.Time
}

// wants reports whether a slot is one of the lowest that are not removed.
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

// NewDriver makes a driver for a namespace. When the test ends, any write that
// nothing asked for fails the test.
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

// Go runs something beside the test, which waits for it to end.
func (d *Driver) Go(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running.Go(f)
	}
}

// Close waits for what runs beside the test.
func (d *Driver) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.running.Wait()
}

// Create makes foo. Its template may hold fields of the pod template.
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

// SetImage gives foo another template.
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

// last is what was asked for last.
func (d *Driver) last() want {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wanted[len(d.wanted)-1]
}

// Scale writes the count of the object, and notes it as wanted.
func (d *Driver) Scale(n int32) {
	d.t.Helper()
	objects := d.cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(d.namespace)
	last := d.last()
	d.ask(want{replicas: n, removed: last.removed, template: last.template}, func() (string, error) {
		_, err := discover.SetScale(d.t.Context(), objects, "foo", n, "", nil)
		return last.template, err
	})
}

// Removed lists the slots that foo has given up.
func (d *Driver) Removed() []int32 { return d.last().removed }

// Wants reports whether a slot is wanted now.
func (d *Driver) Wants(slot int32) bool { return d.last().wants(slot) }

// SetSlots writes the count of the object and the slots that it gives up, in one
// request, and notes both as wanted. The slots are sorted, and each once.
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

// ask notes what is asked for, and asks. Which template that makes is known when
// it is answered, unless it is the last one.
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

// mostWanted is the most that was wanted at any moment of a stretch of time.
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

// SlotsEverWanted is how many slots were wanted at some moment, whatever the moment.
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

// wantedSlot reports whether a slot was wanted at some moment of a stretch of time, and
// whether it was at every moment.
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

// outdated reports whether a pod was not of the template that was wanted at some
// moment of a stretch of time. One that does not say of which it is never is.
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

// over reports whether something else was wanted already when a stretch of time began.
func (d *Driver) over(i int, from time.Time) bool {
	return i+1 < len(d.wanted) && !d.wanted[i+1].acknowledged.IsZero() && d.wanted[i+1].acknowledged.Before(from)
}

// Blame notes a write that nothing asked for.
func (d *Driver) Blame(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
}

// Check makes an interceptor that holds every write of one loop against what
// was wanted between its last look at foo but one and the moment of the write (it
// looks again while writes are on their way): no pod
// is created in a slot that nobody wanted, nor while as many are live as were
// wanted (I1), none is deleted whose slot everybody wanted (I2), and nothing is
// written that is not foo's (I4). A loop that writes pods without having looked,
// or the same pod twice on one look, does not look.
func (d *Driver) Check() Interceptor {
	return d.CheckWith(func(live int, pod *corev1.Pod, most int32) {
		d.Blame("I1: pod %s was created while %d were live and at most %d were wanted", pod.Name, live, most)
	})
}

// glance is what one loop wrote since it last looked at foo.
type glance struct {
	mu         sync.Mutex
	at, before time.Time // the last look and the one before it; zero: it never looked
	written    map[string]bool
}

// looks notes a look at foo.
func (g *glance) looks() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before = g.at; g.at.IsZero() {
		g.before = time.Now()
	}
	g.at, g.written = time.Now(), map[string]bool{}
}

// writes notes that a pod is written, and says since when what was wanted counts.
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

// CheckWith is check with what is done about a create while as many pods are live
// as are wanted.
func (d *Driver) CheckWith(tooMany func(live int, pod *corev1.Pod, most int32)) Interceptor {
	g := &glance{}
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/imoocpods/foo"):
			g.looks()
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
			return d.checkCreate(r, next, g, tooMany)
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

func (d *Driver) checkCreate(r *http.Request, next http.RoundTripper, g *glance, tooMany func(live int, pod *corev1.Pod, most int32)) (*http.Response, error) {
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
		return next.RoundTrip(r) // the loop has been killed
	}
	resp, err := next.RoundTrip(r)
	// One that is refused because its name is taken does no harm.
	if most := d.mostWanted(from, time.Now()); err == nil && resp.StatusCode == http.StatusCreated && live >= int(most) {
		tooMany(live, &pod, most)
	}
	return resp, err
}

// live counts the live pods of foo that there are now, of those that a loop could
// see when it last looked or has written since. One of the name of a pod that is about to
// be created is gone by then, or the server refuses: another loop may be deleting it.
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
		return // the witness is ahead of the loop: this takes nothing from anybody
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

// checkRevision: one that is changed or deleted is meant as it was seen.
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

// decode reads the body of a request, in JSON or protobuf, and puts it back.
func decode(r *http.Request, into runtime.Object) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, into)
	return err
}
