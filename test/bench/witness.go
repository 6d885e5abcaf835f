package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	retry "k8s.io/client-go/tools/watch"
)

// witness watches the pods of a run and, after watchOwner, their owner. It uses no informer. It records
// when each pod arrives. Times are monotonic.
type witness struct {
	mu      sync.Mutex
	changed chan struct{} // closed at every change
	pods    map[types.UID]*seen
	owner   *unstructured.Unstructured
	// created holds the times at which new pods arrived, in order.
	created []time.Time
	ready   int
	lost    error
}

// seen is an existing pod with the time at which it arrived.
type seen struct {
	since time.Time
	ready bool
}

func (b *bench) watchRun(ctx context.Context, s subject, run string) *witness {
	return b.watch(ctx, s.namespace, runLabel+"="+run)
}

// watch starts a watch of the selected pods in one namespace or in all.
func (b *bench) watch(ctx context.Context, namespace, selector string) *witness {
	w := &witness{changed: make(chan struct{}), pods: map[types.UID]*seen{}}
	pods := b.witness.core.Pods(namespace)
	list := must(pods.List(ctx, metav1.ListOptions{LabelSelector: selector}))
	if len(list.Items) > 0 {
		check(fmt.Errorf("the run %s already has %d pods, want none", selector, len(list.Items)))
	}
	w.start(ctx, list.ResourceVersion, func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		opts.LabelSelector = selector
		return pods.Watch(ctx, opts)
	})
	return w
}

// watchOwner makes a witness watch the owner of its pods, too.
func (b *bench) watchOwner(ctx context.Context, w *witness, s subject, name string) {
	owners := b.witness.dynamic.Resource(s.resource).Namespace(s.namespace)
	w.owner = must(owners.Get(ctx, name, metav1.GetOptions{}))
	revision := w.owner.GetResourceVersion()
	w.start(ctx, revision, func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		return owners.Watch(ctx, opts)
	})
}

// start starts a watch from a revision. It retries, because the server closes slow watches on a busy machine.
func (w *witness) start(ctx context.Context, revision string, watch cache.WatchFuncWithContext) {
	events := must(retry.NewRetryWatcherWithContext(ctx, revision, &cache.ListWatch{WatchFuncWithContext: watch}))
	go w.follow(ctx, events)
}

func (w *witness) follow(ctx context.Context, events watch.Interface) {
	defer events.Stop()
	for {
		select {
		case event, more := <-events.ResultChan():
			if !more || event.Type == watch.Error {
				w.note(func(time.Time) { w.lost = fmt.Errorf("the watch of a run or its owner ended: %v", event.Object) })
				return
			}
			w.note(func(now time.Time) { w.take(event, now) })
		case <-ctx.Done():
			return
		}
	}
}

func (w *witness) note(change func(now time.Time)) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	change(now)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *witness) take(event watch.Event, now time.Time) {
	if owner, ok := event.Object.(*unstructured.Unstructured); ok {
		w.owner = owner
		return
	}
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	s := w.pods[pod.UID]
	if s == nil {
		s = &seen{since: now}
		w.pods[pod.UID] = s
		w.created = append(w.created, now)
	}
	if s.ready {
		w.ready--
	}
	if s.ready = event.Type != watch.Deleted && isReady(pod); s.ready {
		w.ready++
	}
	if event.Type == watch.Deleted {
		delete(w.pods, pod.UID)
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// reports reports whether the status of the owner is current and shows n pods, all ready.
func (w *witness) reports(n int) bool {
	if w.owner == nil {
		return false
	}
	number := func(path ...string) int64 {
		value, _, _ := unstructured.NestedInt64(w.owner.Object, path...) // zero if absent
		return value
	}
	return number("status", "observedGeneration") == w.owner.GetGeneration() &&
		number("status", "replicas") == int64(n) && number("status", "readyReplicas") == int64(n)
}

// renewed returns the number of ready pods that arrived after a time.
func (w *witness) renewed(since time.Time) int {
	n := 0
	for _, s := range w.pods {
		if s.ready && s.since.After(since) {
			n++
		}
	}
	return n
}

// until waits until condition is true, and returns the time. It calls condition with the lock held.
func (w *witness) until(ctx context.Context, what string, condition func() bool) time.Time {
	ctx, cancel := patiently(ctx, what)
	defer cancel()
	for {
		w.mu.Lock()
		now, done, err, changed := time.Now(), condition(), w.lost, w.changed
		w.mu.Unlock()
		check(err)
		if done {
			return now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			check(context.Cause(ctx))
		}
	}
}

func (w *witness) untilReady(ctx context.Context, n int) time.Time {
	return w.until(ctx, fmt.Sprintf("%d pods are ready", n), func() bool { return len(w.pods) == n && w.ready == n })
}

func (w *witness) untilCreated(ctx context.Context, n int) time.Time {
	return w.until(ctx, fmt.Sprintf("%d pods have been created", n), func() bool { return len(w.created) >= n })
}

func (w *witness) untilReported(ctx context.Context, n int) time.Time {
	return w.until(ctx, fmt.Sprintf("the status reports %d ready pods", n), func() bool { return w.reports(n) })
}
