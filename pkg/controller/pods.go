package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/expectations"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// podSource watches the pods that carry the loop's identity label.
func podSource(c strategy.Clients, listed func()) informer.Source {
	pods := c.Core.Pods(c.Namespace)
	return informer.Source{
		Resource: "pods",
		List: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = apis.LabelOwner
			return pods.List(ctx, opts)
		},
		Watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = apis.LabelOwner
			return pods.Watch(ctx, opts)
		},
		Client: c.Core, Example: &corev1.Pod{}, Trim: strategy.TrimPod,
		Indexers: cache.Indexers{strategy.ByOwner: strategy.IndexByOwner, strategy.ByLabel: strategy.IndexByLabel},
		Listed:   listed,
	}
}

// podEvents puts the owner of a pod into the queue, likewise.
func (l *loop) podEvents() cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		r, ok := informer.Object(obj).(*strategy.PodRecord)
		if !ok || r.Controller() == nil {
			return
		}
		owners := l.kinds.ofPod(r.Controller())
		if owners == nil {
			if changed {
				l.enqueueNamers(r)
			}
			return
		}
		k := expectations.Key{Kind: owners.kind.CRD(), Namespace: r.Namespace, Name: r.Controller().Name}
		if how == deleted {
			l.expectations.Orphans.Gone(k, r)
		}
		if changed || l.expectations.Waiting.Has(k) {
			l.queue.wake(k, "pod", r.Name, how)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueue(obj, true, added) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*strategy.PodRecord)
			after, ok2 := obj.(*strategy.PodRecord)
			changed := !ok || !ok2 || after.Differs(*before)
			enqueue(obj, changed, updated)
			if changed && ok && ok2 && before.OwnerUID() != after.OwnerUID() {
				enqueue(old, true, "was released") // its owner changed: its slot is to be looked at
			}
		},
		DeleteFunc: func(obj any) { enqueue(obj, true, deleted) },
	}
}

// enqueueNamers puts the object whose Deployment has a pod into the queue, if
// its kind tells the names of the pods. Nothing else of them is read.
func (l *loop) enqueueNamers(r *strategy.PodRecord) {
	if r.Deployment == "" {
		return
	}
	for _, o := range l.kinds.list() {
		if o.strategy.PodIndex != strategy.ByLabel || len(o.kind.Mapping.Status.PodNames) == 0 {
			continue
		}
		for _, obj := range o.find(byUID, string(r.Label)) {
			l.queue.wake(expectations.Key{Kind: o.kind.CRD(), Namespace: obj.GetNamespace(), Name: obj.GetName()}, "pod", r.Name, "changed")
		}
	}
}
