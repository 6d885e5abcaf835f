package lease

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
)

// reportOverlaps logs which other loops reconcile some of the same objects. It watches them for
// renewDeadline, and reports only loops that renew their leases meanwhile.
func (l *Lease) reportOverlaps(ctx context.Context) {
	before := map[cache.ObjectName]coordinationv1.LeaseSpec{}
	for _, lease := range l.overlapping(ctx) {
		before[cache.MetaObjectToName(&lease)] = lease.Spec
	}
	if len(before) == 0 {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(renewDeadline): // a loop that has not renewed its lease by then stops
	}
	for _, lease := range l.overlapping(ctx) {
		if spec, known := before[cache.MetaObjectToName(&lease)]; known && !equality.Semantic.DeepEqual(spec, lease.Spec) {
			other := holder.LoopOf(&lease)
			l.Log("another controller is running: %s, reconciles %s; both reconcile the objects that they have in common", other, other.Scope)
		}
	}
}

// overlapping lists the leases of other loops whose scopes overlap with the scope of this loop. It
// skips namespaces whose leases it cannot list.
func (l *Lease) overlapping(ctx context.Context) []coordinationv1.Lease {
	own, name := l.Self.Scope.Lease()
	namespaces := []string{l.Self.Scope.Namespace}
	if own != apis.LeaseNamespaceForAll {
		namespaces = append(namespaces, apis.LeaseNamespaceForAll)
	}
	var overlapping []coordinationv1.Lease
	for _, namespace := range namespaces {
		leases, err := l.Client.Leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: holder.Selector})
		if err != nil {
			klog.FromContext(ctx).V(1).Info("Cannot look for other controllers", "namespace", namespace, "err", err)
			continue
		}
		for _, lease := range leases.Items {
			other := holder.LoopOf(&lease)
			if other.Holder != "" && !l.ended(other) && other.Scope.Overlaps(l.Self.Scope) && cache.MetaObjectToName(&lease) != cache.NewObjectName(own, name) {
				overlapping = append(overlapping, lease)
			}
		}
	}
	return overlapping
}
