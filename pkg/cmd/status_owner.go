package cmd

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// hasStatus reports whether there is something to say of the replicas of a kind.
// Custom resources may have some in ways that only their objects show.
func hasStatus(kind kinds.Kind) bool {
	if !kind.BuiltIn() || slices.Contains([]string{"apps", "batch"}, kind.Resource.Group) {
		return true
	}
	return kind.Resource.Group == "" && kind.Resource.Resource == "replicationcontrollers"
}

// withReplicas replaces pods by the objects that own them, and refuses what has
// neither replicas nor pods.
func (o *statusOptions) withReplicas(ctx context.Context, targets []observe.Target, errs []error) ([]observe.Target, []error) {
	targets, failed := o.podOwners(ctx, targets, "showing", commandline.Kubectl("describe", "pod"))
	errs = append(errs, failed...)
	var all []observe.Target
	for _, t := range targets {
		if hasStatus(t.Kind) {
			all = append(all, t)
		} else {
			errs = append(errs, noStatus(t.String()))
		}
	}
	return all, errs
}

// noStatus refuses what has neither replicas nor pods: an object, or a type.
func noStatus(what string) error {
	err := fmt.Errorf("%s has no replicas and no pods of its own", what)
	return outcome.WithHint(err, "to list the types that have", commandline.Plugin("kinds"))
}

// takeWord decides what one bare word means: an ImoocPod of that name, or else a type,
// whose objects are listed as "kubectl get" does.
func (o *statusOptions) takeWord(ctx context.Context) {
	if names, ok := o.imoocPods(o.args); !ok || len(o.args) != 1 || names[0] != o.args[0] {
		return
	}
	t := observe.Target{Kind: kinds.ImoocPod(), Namespace: o.namespace, Name: o.args[0]}
	obj, err := t.Resource(o.client).Get(ctx, t.Name, metav1.GetOptions{})
	if err == nil {
		o.word = obj
		return
	}
	if !apierrors.IsNotFound(err) {
		return // what follows meets it again, and reports it
	}
	// A short name such as "no" is not worth a type that has no replicas.
	if kind, err := o.clients.KindNamed(ctx, t.Name); err == nil && (hasStatus(kind) || kind.IsPod()) {
		o.all = true
	}
}
