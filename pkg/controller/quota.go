package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
)

// followQuotas wakes the objects whose creates were refused when a quota in their namespace
// has room again. Without permission to watch quotas, they wait for the end of their
// back-off.
func (c *Controller) followQuotas(ctx context.Context) {
	client := c.Core.ResourceQuotas(c.Namespace)
	if _, err := client.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) {
		klog.FromContext(ctx).V(1).Info("Cannot watch quotas", "err", err)
		return
	}
	quotas := c.health.New(informer.SourceOf("resourcequotas", client, &corev1.ResourceQuota{}))
	quotas.Handle(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*corev1.ResourceQuota)
			after, ok2 := obj.(*corev1.ResourceQuota)
			if ok && ok2 && givesWay(before.Status, after.Status) {
				c.retryRefused(after.Namespace)
			}
		},
		DeleteFunc: func(obj any) {
			if q, ok := informer.Object(obj).(*corev1.ResourceQuota); ok {
				c.retryRefused(q.Namespace)
			}
		},
	})
	quotas.RunWithContext(ctx)
}

// givesWay reports whether a quota allows more than before: a hard limit rose or went away,
// or a use fell. A use that rises usually comes from our own creates.
func givesWay(before, after corev1.ResourceQuotaStatus) bool {
	for name, hard := range before.Hard {
		if limit, still := after.Hard[name]; !still || limit.Cmp(hard) > 0 {
			return true
		}
	}
	for name, used := range before.Used {
		if use, still := after.Used[name]; still && use.Cmp(used) < 0 {
			return true
		}
	}
	return false
}

// retryRefused wakes the objects of a namespace whose creates were refused, to try them
// at once.
func (c *Controller) retryRefused(namespace string) {
	for _, k := range c.memory.Lift(namespace) {
		c.wake(k, "a quota has room again")
	}
}
