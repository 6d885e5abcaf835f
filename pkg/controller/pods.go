package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// podsName is the name of the resource.
const podsName = "pods"

// podEvents puts the owner of a pod into the queue when something changed that its plan
// reads, or when the loop waits to see what it wrote itself.
func (l *loop) podEvents() cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		r, ok := informer.Object(obj).(*strategy.PodRecord)
		if !ok {
			return
		}
		ref := metav1.GetControllerOfNoCopy(r)
		if ref == nil {
			return
		}
		owners := l.kinds.ofPod(ref)
		if owners == nil {
			if changed {
				l.enqueueNamers(r)
			}
			return
		}
		k := owners.keyOf(r.Namespace, ref.Name)
		l.wake(k, changed, how, "pod", r.Name, how)
	}
	return handler(enqueue, func(old, obj any) {
		before, was := old.(*strategy.PodRecord)
		after, is := obj.(*strategy.PodRecord) // not one that was released
		changed := !was || !is || after.Differs(before)
		enqueue(obj, changed, updated)
		if was && (!is || strategy.OwnerUID(before) != strategy.OwnerUID(after)) {
			enqueue(old, true, "its controller reference was removed")
		}
	})
}

// enqueueNamers puts the object whose Deployment has a pod into the queue. Plans read no
// more of it than its name; if it fails, the log says so.
func (l *loop) enqueueNamers(r *strategy.PodRecord) {
	if r.Pod.Deployment == "" {
		return
	}
	for _, o := range l.kinds.list() {
		if o.strategy.PodIndex != strategy.ByLabel {
			continue
		}
		for _, obj := range o.find(byUID, string(r.Label)) {
			l.queue.Wake(o.key(obj), "pod", r.Name, "changed")
		}
	}
}

// logFailures logs why pods of an object will not become ready without help: each
// reason once, until something is done for the object.
func (l *loop) logFailures(k memory.Key, o *owners, obj *unstructured.Unstructured) {
	pods, err := l.pods.GetIndexer().ByIndex(o.strategy.PodIndex, string(obj.GetUID()))
	if err != nil || obj.GetDeletionTimestamp() != nil {
		return
	}
	active, ready := 0, 0
	var failing []*strategy.PodRecord
	for _, pod := range pods {
		r, ok := pod.(*strategy.PodRecord)
		if !ok || r.Namespace != k.Namespace {
			continue
		}
		if r.Pod.Active() {
			active++
			if r.Pod.Ready {
				ready++
			}
		}
		if r.FailureCode != "" {
			failing = append(failing, r)
		}
	}
	desired := active
	if !o.kind.Mapping.Strategy.WithoutReplicas() {
		if n, err := o.kind.Desired(obj); err == nil {
			desired = int(n)
		}
	}
	for _, r := range failing {
		if l.memory.NewFailure(k, string(r.FailureCode)) {
			l.report.LogObject(k, "%d of %d pods ready: %s", ready, desired, r.Failure)
		}
	}
}
