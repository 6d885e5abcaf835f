package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// podOwners replaces each pod with its owner, without duplicates, and prints a line about each owner. doing is the verb
// in that line, such as "showing". instead is the command to suggest for a pod without an owner. podOwners
// appends new errors to errs.
func (c *cluster) podOwners(ctx context.Context, found []observe.Target, errs []error, doing string, instead commandline.Command) ([]observe.Target, []error) {
	var all []observe.Target
	for _, t := range found {
		if !t.Kind.IsPod() {
			all = append(all, t)
			continue
		}
		owner, err := c.topOwner(ctx, t)
		same := func(other observe.Target) bool {
			return other.Kind.Resource == owner.Kind.Resource && other.Namespace == owner.Namespace && other.Name == owner.Name
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case owner.Kind.IsPod():
			errs = append(errs, fmt.Errorf("%s has no owner with replicas: %s", t, c.line(instead.With(t.Name).In(t.Namespace))))
		case !slices.ContainsFunc(all, same):
			if err := escape.PrintLine(c.streams.ErrOut, "%s belongs to %s; %s %[2]s", t, owner, doing); err != nil {
				errs = append(errs, err)
			}
			all = append(all, owner)
		}
	}
	return all, errs
}

// topOwner follows the controller references of a pod up to the topmost object that may have replicas (see
// counts). If there is no such object, it returns the pod.
func (c *cluster) topOwner(ctx context.Context, pod observe.Target) (observe.Target, error) {
	top, seen := pod, sets.New[types.UID]()
	for at := pod; ; {
		err := at.Read(ctx, c.Dynamic)
		if apierrors.IsForbidden(err) && !top.Kind.IsPod() {
			return top, nil // the user cannot read the next owner
		}
		if err != nil {
			return pod, kube.Explain(at.Kind, err)
		}
		if !at.Kind.IsPod() && counts(ctx, c.Finder, at) {
			top = at
		}
		ref := metav1.GetControllerOfNoCopy(at.Object)
		if ref == nil || seen.Has(ref.UID) {
			return top, nil // the top of the tree, or a cycle of references
		}
		seen.Insert(ref.UID)
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return top, nil //nolint:nilerr // its type is no longer served
		}
		kind, err := c.KindOf(ctx, mapping)
		if err != nil {
			return pod, err
		}
		at = observe.Named(kind, pod.Namespace, ref.Name)
	}
}

// counts reports whether an object may have replicas. It reports false for a CronJob, because the status of a CronJob
// does not describe the pods of its Jobs.
func counts(ctx context.Context, finder *discover.Finder, t observe.Target) bool {
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return hasStatus(t.Kind) && t.Kind.CRD() != kinds.CronJobs
	}
	_, err := finder.Find(ctx, t.Kind, t.Object, nil)
	if unknown, is := errors.AsType[*discover.UnknownFieldError](err); is {
		return len(unknown.Candidates) > 0
	}
	return err == nil
}
