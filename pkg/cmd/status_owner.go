package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
)

// hasStatus reports whether there is something to say of the replicas of a kind.
// Custom resources may have some in ways that only their objects show.
func hasStatus(kind kinds.Kind) bool {
	if !kind.BuiltIn() || slices.Contains([]string{"apps", "batch"}, kind.Resource.Group) {
		return true
	}
	return kind.Resource.Group == "" && kind.Resource.Resource == "replicationcontrollers"
}

func isPod(kind kinds.Kind) bool { return kind.CRD() == "pods" }

// withReplicas replaces pods by the objects that own them, and refuses what has
// neither replicas nor pods.
func (o *statusOptions) withReplicas(ctx context.Context, targets []observe.Target, errs []error) ([]observe.Target, []error) {
	var all []observe.Target
	for _, t := range targets {
		switch {
		case isPod(t.Kind):
			owner, err := topOwner(ctx, o.clients, t)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if slices.ContainsFunc(all, func(other observe.Target) bool {
				return other.Kind.Resource == owner.Kind.Resource && other.Namespace == owner.Namespace && other.Name == owner.Name
			}) {
				continue
			}
			if err := escape.PrintLine(o.streams.ErrOut, "%s belongs to %s; showing %[2]s", t, owner); err != nil {
				errs = append(errs, err)
			}
			all = append(all, owner)
		case !hasStatus(t.Kind):
			errs = append(errs, noStatus(t.Kind, t.String()))
		default:
			all = append(all, t)
		}
	}
	return all, errs
}

// noStatus refuses a kind whose objects have neither replicas nor pods.
func noStatus(kind kinds.Kind, what string) error {
	return fmt.Errorf("%s has no replicas and no pods of its own; \"%s kinds\" lists the types that have", orType(what, kind), programName)
}

func orType(what string, kind kinds.Kind) string {
	if what != "" {
		return what
	}
	return "the type " + kind.CRD()
}

// topOwner climbs from a pod by controller references to the topmost object that has
// a replica count or a pod for each node.
func topOwner(ctx context.Context, c *clients.Factory, pod observe.Target) (observe.Target, error) {
	none := fmt.Errorf("%s has no owner with replicas: kubectl describe pod %s%s", pod, pod.Name, inNamespaceOf(pod))
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil {
		return pod, err
	}
	finder, err := c.Finder()
	if err != nil {
		return pod, err
	}
	var top *observe.Target
	for at := pod; ; {
		if at.Object == nil {
			at.Object, err = at.Resource(finder.Dynamic).Get(ctx, at.Name, metav1.GetOptions{})
			if apierrors.IsForbidden(err) && top != nil {
				return *top, nil // what is above may not be read
			}
			if err != nil {
				return pod, clients.Explain(at.Kind, err)
			}
		}
		if !isPod(at.Kind) && counts(ctx, finder, at) {
			found := at
			top = &found
		}
		ref := metav1.GetControllerOfNoCopy(at.Object)
		if ref == nil {
			break
		}
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			break // its type is no longer served
		}
		kind, err := c.KindOf(ctx, mapping)
		if err != nil {
			return pod, err
		}
		at = observe.Target{Kind: kind, Namespace: pod.Namespace, Name: ref.Name}
	}
	if top == nil {
		return pod, none
	}
	return *top, nil
}

// counts reports whether an object has a replica count, or a pod for each node.
func counts(ctx context.Context, finder *discover.Finder, t observe.Target) bool {
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return hasStatus(t.Kind)
	}
	_, err := finder.Find(ctx, t.Kind, t.Object, nil)
	var unknown *discover.UnknownFieldError
	if errors.As(err, &unknown) {
		return len(unknown.Candidates) > 0
	}
	return err == nil
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
	if kind, err := o.clients.KindNamed(ctx, t.Name); err == nil && (hasStatus(kind) || isPod(kind)) {
		o.all = true
	}
}
