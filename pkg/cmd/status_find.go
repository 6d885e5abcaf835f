package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// named reports whether objects or a type were named. Otherwise, status shows all objects of
// the shipped and the declared kinds.
func (o *statusOptions) named() bool {
	return len(o.args) > 0 || o.fromFiles()
}

// one reports whether a single object was named, which is shown in full. Selected objects are
// a list, however many they are.
func (o *statusOptions) one() bool {
	named := len(o.args) == 1 || len(o.args) == 2 && !strings.Contains(o.args[0], "/")
	return !o.watch && (o.fromFiles() || named && !o.given())
}

// selects reports whether objects are selected rather than named, so that they come and go.
func (o *statusOptions) selects() bool {
	return !o.named() || len(o.args) > 0 && o.given()
}

// find finds the current objects.
func (o *statusOptions) find(ctx context.Context) ([]observe.Target, []error) {
	if o.named() {
		targets, errs := o.targetFlags.find(ctx, o.clients)
		if o.word != nil && len(targets) == 1 {
			targets[0].Object = o.word
		}
		return o.withReplicas(ctx, targets, errs)
	}
	all, err := o.allKinds(ctx)
	if err != nil {
		return nil, []error{err}
	}
	var targets []observe.Target
	var errs []error
	served := false
	for _, kind := range all {
		list, err := follow.List(ctx, o.ofKind(kind), metav1.ListOptions{LabelSelector: o.selector})
		if kube.NotServed(err) {
			continue // it is not installed
		}
		if apierrors.IsForbidden(err) && !kind.Shipped() {
			continue // the user may be allowed to list only some kinds
		}
		served = true
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.listed = append(o.listed, kind)
		for _, obj := range list {
			targets = append(targets, observe.Target{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj})
		}
	}
	if !served {
		errs = append(errs, &outcome.NotServedError{CRD: kinds.ImoocPod().CRD(), Shipped: true})
	}
	if len(targets) == 0 {
		errs = errs[:min(1, len(errs))] // it is the same for the other kinds
	}
	return targets, errs
}

// allKinds returns the kinds that this program ships, and those that CRDs declare.
func (o *statusOptions) allKinds(ctx context.Context) ([]kinds.Kind, error) {
	declared, err := o.clients.DeclaredKinds(ctx)
	return append(kinds.Shipped(), declared...), err
}

// ofKind returns the client for the objects of a kind in the namespace or in all.
func (o *statusOptions) ofKind(kind kinds.Kind) dynamic.ResourceInterface {
	if o.allNamespaces || kind.Clusterwide {
		return o.client.Resource(kind.Resource)
	}
	return o.client.Resource(kind.Resource).Namespace(o.namespace)
}

// sources returns what to watch: the named objects or whole kinds.
func (o *statusOptions) sources(ctx context.Context) ([]observe.Source, []error) {
	var all []kinds.Kind
	switch {
	case !o.selects():
		targets, errs := o.find(ctx)
		var sources []observe.Source
		for _, t := range targets {
			sources = append(sources, observe.Source{Target: t})
		}
		return sources, errs
	case !o.named():
		var err error
		if all, err = o.allKinds(ctx); err != nil {
			return nil, []error{err}
		}
	default:
		for word := range strings.SplitSeq(o.args[0], ",") {
			kind, err := o.clients.KindNamed(ctx, word)
			if err != nil {
				return nil, []error{err}
			}
			if !hasStatus(kind) {
				return nil, []error{noStatus("the type " + kind.CRD())}
			}
			all = append(all, kind)
		}
	}
	sources := make([]observe.Source, len(all))
	for i, kind := range all {
		sources[i] = observe.Source{Target: observe.Named(kind, o.namespace, ""), Everywhere: o.allNamespaces, Selector: o.selector}
	}
	return sources, nil
}

// hasStatus reports whether objects of a kind may have replicas. For custom resources, only
// the objects show it.
func hasStatus(kind kinds.Kind) bool {
	if !kind.BuiltIn() || slices.Contains([]string{"apps", "batch"}, kind.Resource.Group) {
		return true
	}
	return kind.Resource.Group == "" && kind.Resource.Resource == "replicationcontrollers"
}

// withReplicas replaces pods by their owners, and returns errors for objects that have
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

// noStatus returns the error for an object or type that has neither replicas nor pods.
func noStatus(what string) error {
	err := fmt.Errorf("%s has no replicas and no pods of its own", what)
	return outcome.WithHint(err, "to list the types that have", commandline.Plugin("kinds"))
}

// takeWord resolves a single bare word: an ImoocPod of that name, or else a type, whose
// objects are listed as in "kubectl get".
func (o *statusOptions) takeWord(ctx context.Context) {
	if names, ok := o.imoocPods(o.args); !ok || len(o.args) != 1 || names[0] != o.args[0] {
		return
	}
	t := observe.Target{Kind: kinds.ImoocPod(), Namespace: o.namespace, Name: o.args[0]}
	err := t.Read(ctx, o.client)
	if err == nil {
		o.word = t.Object
		return
	}
	if !apierrors.IsNotFound(err) {
		return // find will return this error
	}
	// A word such as "no", a short name, must not select a type without replicas.
	if kind, err := o.clients.KindNamed(ctx, t.Name); err == nil && (hasStatus(kind) || kind.IsPod()) {
		o.all = true
	}
}
