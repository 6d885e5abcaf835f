package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// one reports whether to show a single object in full: without --watch, if one object is named or files are given.
func (o *statusOptions) one() bool {
	named := len(o.targets.args) == 1 || len(o.targets.args) == 2 && !strings.Contains(o.targets.args[0], "/")
	return !o.watch && (o.targets.fromFiles() || named && !o.targets.given())
}

// selects reports whether objects are selected rather than named, so that their list may change.
func (o *statusOptions) selects() bool {
	return o.targets.untyped() || len(o.targets.args) > 0 && o.targets.given()
}

// find returns the targets, and replaces each pod with its owner. It returns an error for each object whose
// kind has neither replicas nor pods, unless the object is in a file.
func (o *statusOptions) find(ctx context.Context) ([]observe.Target, []error) {
	targets, errs := o.targets.find(ctx, o.cluster)
	if o.targets.untyped() {
		return targets, errs
	}
	if o.word != nil && len(targets) == 1 {
		targets[0].Object = o.word
	}
	targets, errs = o.cluster.podOwners(ctx, targets, errs, "showing", commandline.Kubectl("describe", "pod"))
	return each(targets, errs, func(t observe.Target) (observe.Target, error) {
		if hasStatus(t.Kind) || o.targets.fromFiles() {
			return t, nil
		}
		return t, noStatus(t.String())
	})
}

// sources returns what to watch: the named objects or whole kinds. It stores the kinds in o.among.
func (o *statusOptions) sources(ctx context.Context) (all []observe.Source, err error) {
	switch {
	case !o.selects():
		targets, errs := o.find(ctx)
		for _, t := range targets {
			all = append(all, observe.Source{Target: t})
		}
		return all, outcome.Join(errs)
	case o.targets.untyped():
		if o.among, err = o.targets.replicaKinds(ctx, o.cluster); err != nil {
			return nil, err
		}
	default:
		for word := range strings.SplitSeq(o.targets.args[0], ",") {
			kind, err := o.cluster.KindNamed(ctx, word)
			if err == nil && !hasStatus(kind) {
				err = noStatus("the type " + kind.CRD())
			}
			if err != nil {
				return nil, err
			}
			o.among = append(o.among, kind)
		}
	}
	for _, kind := range o.among {
		t := observe.Named(kind, o.cluster.scope(o.targets.allNamespaces), "")
		all = append(all, observe.Source{Target: t, Selector: o.targets.selector})
	}
	return all, nil
}

// hasStatus reports whether objects of a kind can have replicas. It is true for any custom resource,
// because only the objects show whether they have replicas.
func hasStatus(kind kinds.Kind) bool {
	return !kind.BuiltIn() || slices.Contains([]string{"apps", "batch"}, kind.Resource.Group) ||
		kind.CRD() == "replicationcontrollers"
}

func noStatus(what string) error {
	err := fmt.Errorf("%s has no replicas and no pods of its own", what)
	return outcome.WithHint(err, "to list the types that have", commandline.Plugin("kinds"))
}

// takeWord resolves a bare word to an ImoocPod or, if there is none and the word is a type, to all objects of the type.
func (o *statusOptions) takeWord(ctx context.Context) {
	t := observe.Named(kinds.ImoocPod(), o.cluster.namespace, o.targets.bareName())
	if t.Name == "" {
		return
	}
	err := t.Read(ctx, o.cluster.Dynamic)
	if o.word = t.Object; !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return // find will return any other error
	}
	// A word such as "no", which is short for nodes, must not select a type without replicas.
	if kind, err := o.cluster.KindNamed(ctx, t.Name); err == nil && (hasStatus(kind) || kind.IsPod()) {
		o.targets.all = true
	}
}
