package cmd

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// everyKind decides which objects a verb selects if no type is given. The verb searches all kinds with
// replicas (see kube.Clients.ReplicaKinds), and leaves out objects that belong to another object.
type everyKind string

const (
	// noKind requires a type.
	noKind everyKind = ""
	// toRead leaves out objects whose controller is an object of a searched kind.
	toRead everyKind = "read"
	// toWrite leaves out cluster-scoped objects. It also omits objects with a controller, which could undo a change.
	toWrite everyKind = "write"
)

func (c *cluster) scope(allNamespaces bool) string {
	if allNamespaces {
		return metav1.NamespaceAll
	}
	return c.namespace
}

// untyped reports whether a verb searches all kinds, because no type, name, or file is given.
func (f *targetFlags) untyped() bool {
	return f.without != noKind && len(f.args) == 0 && !f.fromFiles()
}

// replicaKinds returns the kinds to search if no type is given.
func (f *targetFlags) replicaKinds(ctx context.Context, c *cluster) ([]kinds.Kind, error) {
	all, err := c.ReplicaKinds(ctx)
	if f.without == toWrite {
		all = slices.DeleteFunc(all, func(kind kinds.Kind) bool { return kind.Clusterwide })
	}
	return all, err
}

// belongs reports whether a verb leaves out t because another object controls it. among contains the searched kinds.
func (f *targetFlags) belongs(t observe.Target, among []kinds.Kind) bool {
	ref := metav1.GetControllerOfNoCopy(t.Object)
	return ref != nil && (f.without == toWrite || slices.ContainsFunc(among, func(kind kinds.Kind) bool {
		return kind.GroupVersionKind().GroupKind() == schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	}))
}

// findEveryKind finds the objects of all searched kinds. It warns about kinds that the user is not allowed to list. If
// the user is not allowed to list any kind, it returns an error.
func (f *targetFlags) findEveryKind(ctx context.Context, c *cluster) ([]observe.Target, []error) {
	all, err := f.replicaKinds(ctx, c)
	if err != nil {
		return nil, []error{err}
	}
	byKind, errs := make([][]observe.Target, len(all)), make([]error, len(all))
	workqueue.ParallelizeUntil(ctx, maxParallel, len(all), func(i int) {
		of := observe.Named(all[i], c.scope(f.allNamespaces), "")
		list, err := follow.List(ctx, of.Resource(c.Dynamic), metav1.ListOptions{LabelSelector: f.selector})
		if errs[i] = err; kube.NotServed(err) || apierrors.IsMethodNotSupported(err) {
			errs[i] = nil
		}
		for _, obj := range list {
			of.Namespace, of.Name, of.Object = obj.GetNamespace(), obj.GetName(), obj
			if !f.belongs(of, all) {
				byKind[i] = append(byKind[i], of)
			}
		}
	})
	if ctx.Err() != nil {
		return nil, []error{context.Cause(ctx)}
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return !apierrors.IsForbidden(err) }) {
		return nil, errs[max(0, slices.IndexFunc(all, kinds.Kind.BuiltIn)):][:1] // for a built-in kind, which every server has
	}
	var unlisted []string
	for i, kind := range all {
		if apierrors.IsForbidden(errs[i]) && c.Serves(kind) {
			unlisted = append(unlisted, kind.CRD())
		}
	}
	if len(unlisted) > 0 {
		c.printErrf("Warning: left out, because you have no permission to list them: %s", strings.Join(unlisted, ", "))
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil || apierrors.IsForbidden(err) })
	found := slices.Concat(byKind...)
	if len(found) == 0 && len(errs) > 0 {
		errs = errs[:1] // usually, the error is the same for all kinds
	}
	return found, errs
}

// elsewhere returns the pod and the objects with replicas that have the given name, each as TYPE/NAME.
func (c *cluster) elsewhere(ctx context.Context, name string) []string {
	all, err := c.ReplicaKinds(ctx)
	if err != nil {
		return nil
	}
	if pods, err := c.KindNamed(ctx, "pods"); err == nil {
		all = append(all, pods)
	}
	found := make([]string, len(all))
	workqueue.ParallelizeUntil(ctx, maxParallel, len(all), func(i int) {
		t := observe.Named(all[i], c.namespace, name)
		if err := t.Read(ctx, c.Dynamic); err == nil {
			found[i] = t.String()
		}
	})
	return slices.DeleteFunc(found, func(argument string) bool { return argument == "" })
}
