package cmd

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func (o *statusOptions) find(ctx context.Context) ([]observe.Target, []error) {
	if o.named() {
		targets, errs := o.targetFlags.find(ctx, o.clients)
		if o.word != nil && len(targets) == 1 {
			targets[0].Object = o.word
		}
		return o.withReplicas(ctx, targets, errs)
	}
	var targets []observe.Target
	all, err := o.allKinds(ctx)
	if err != nil {
		return nil, []error{err}
	}
	var errs []error
	served := false
	for _, kind := range all {
		list, err := kube.List(ctx, o.ofKind(kind), metav1.ListOptions{LabelSelector: o.selector})
		if kube.NotServed(err) {
			continue // it is not installed
		}
		if apierrors.IsForbidden(err) && !kind.Shipped() {
			continue // not everybody who may see our kinds may see all others
		}
		served = true
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.listed = append(o.listed, kind)
		for i := range list {
			obj := &list[i]
			targets = append(targets, observe.Target{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj})
		}
	}
	if !served {
		errs = append(errs, &outcome.NotServedError{CRD: kinds.ImoocPod().CRD(), Shipped: true})
	}
	if len(targets) == 0 {
		errs = errs[:min(1, len(errs))] // of the other kinds it would be the same
	}
	return targets, errs
}

// allKinds are those of which objects are shown where none is named: the kinds that this
// program ships, and those that CRDs declare.
func (o *statusOptions) allKinds(ctx context.Context) ([]kinds.Kind, error) {
	declared, err := o.clients.DeclaredKinds(ctx)
	return append(kinds.Shipped(), declared...), err
}

// ofKind is the client for the objects of a kind in the namespace, or in all.
func (o *statusOptions) ofKind(kind kinds.Kind) dynamic.ResourceInterface {
	if o.allNamespaces || kind.Clusterwide {
		return o.client.Resource(kind.Resource)
	}
	return o.client.Resource(kind.Resource).Namespace(o.namespace)
}
