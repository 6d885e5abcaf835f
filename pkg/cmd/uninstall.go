package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type uninstallOptions struct {
	common        commonOptions
	allNamespaces bool
	crds          bool
	deleteObjects bool
	timeout       time.Duration
}

func newUninstallCommand(common commonOptions) *cobra.Command {
	o := &uninstallOptions{common: common, timeout: 2 * time.Minute}
	cmd := &cobra.Command{
		Use:   "uninstall ([--namespace=NAMESPACE | --all-namespaces] | --crds [--delete-objects]) [--timeout=duration]",
		Short: "Remove the controller or the custom resource definitions",
		Long: `Remove the controller that "install --controller" installed in the current namespace
or, with -A, for all namespaces, and its roles. Objects, their pods, and the roles for
people stay.

With --crds, remove the custom resource definitions and the roles for people
instead. Removing a definition deletes all of its objects in all namespaces, so the
command refuses to do that while there are any, unless you pass --delete-objects.`,
		Example: `  # Remove the controller for all namespaces
  kubectl imoocpod uninstall -A

  # Remove the CRDs if they have no objects
  kubectl imoocpod uninstall --crds

  # Remove the CRDs and all their objects
  kubectl imoocpod uninstall --crds --delete-objects`,
	}
	addAllNamespacesFlag(cmd, &o.allNamespaces)
	cmd.Flags().BoolVar(&o.crds, "crds", false, "Remove the custom resource definitions and the roles for people instead of a controller.")
	cmd.Flags().BoolVar(&o.deleteObjects, "delete-objects", false, "Also delete all objects of the definitions, in all namespaces.")
	addDuration(cmd.Flags(), &o.timeout, "timeout", "The length of time to wait for each object to be gone.")
	return command(cmd, o.complete, o.run)
}

func (o *uninstallOptions) complete(args []string) error {
	switch {
	case o.timeout == 0:
		return usageErrorf("--timeout must be more than 0")
	case o.deleteObjects && !o.crds:
		return usageErrorf("--delete-objects needs --crds")
	case o.allNamespaces && o.crds:
		return usageErrorf("--all-namespaces and --crds cannot be used together")
	}
	return noArgs("uninstall", args)
}

func (o *uninstallOptions) run(ctx context.Context) error {
	c, err := o.common.factory.Connect()
	if err != nil {
		return err
	}
	if !o.crds {
		return o.uninstallController(ctx, c.Dynamic)
	}
	if err := o.clear(ctx, c.Dynamic); err != nil {
		return err
	}
	for _, crd := range deploy.CRDs() {
		removed, err := o.remove(ctx, c.Dynamic, crd, nil)
		if err == nil && !removed {
			err = printObject(o.common.streams.Out, &printers.NamePrinter{}, crd, "was not installed")
		}
		if err != nil {
			return err
		}
	}
	_, err = o.removeAll(ctx, c.Dynamic, deploy.People())
	if apierrors.IsForbidden(err) {
		o.common.printErrf("Warning: some roles for people may remain: %v", err)
		return nil
	}
	return err
}

// uninstallController removes the controller's objects, except the namespace.
func (o *uninstallOptions) uninstallController(ctx context.Context, client dynamic.Interface) error {
	namespace, err := controllerNamespace(o.common.factory, o.allNamespaces)
	if err != nil {
		return err
	}
	removed, err := o.removeAll(ctx, client, deploy.Controller(deploy.Settings{Namespace: namespace, AllNamespaces: o.allNamespaces}))
	if removed || err != nil {
		return err
	}
	where := "namespace " + namespace
	if o.allNamespaces {
		where = "all namespaces"
	}
	return escape.PrintLine(o.common.streams.Out, "no controller is installed for %s", where)
}

// removeAll removes objects in reverse order, so that a controller keeps its permissions while it runs.
// removed reports whether any of them existed.
func (o *uninstallOptions) removeAll(ctx context.Context, client dynamic.Interface, objs []*unstructured.Unstructured) (removed bool, err error) {
	for _, obj := range slices.Backward(objs) {
		gone, err := o.remove(ctx, client, obj, new(metav1.DeletePropagationForeground))
		if err != nil {
			return removed, err
		}
		removed = removed || gone
	}
	return removed, nil
}

// remove deletes an object, waits until it is gone, and prints that. removed reports whether the object existed.
func (o *uninstallOptions) remove(ctx context.Context, client dynamic.Interface, obj *unstructured.Unstructured, policy *metav1.DeletionPropagation) (removed bool, err error) {
	objects, name := objectsLike(client, obj), obj.GetName()
	present, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	err = objects.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(present.GetUID())), PropagationPolicy: policy})
	if err == nil || apierrors.IsNotFound(err) {
		err = observe.WaitUntilGone(ctx, objects, present, o.timeout)
	}
	if err == nil {
		err = printObject(o.common.streams.Out, &printers.NamePrinter{}, obj, "deleted")
	}
	return true, err
}

// clear makes sure that the CRDs have no objects. With --delete-objects, it deletes the objects after their pods.
// Otherwise, objects are an error. The garbage collector could miss the deletion of objects whose CRD is deleted first.
func (o *uninstallOptions) clear(ctx context.Context, client dynamic.Interface) error {
	found := make([][]*unstructured.Unstructured, len(kinds.Shipped()))
	var refusals []error
	for i, kind := range kinds.Shipped() {
		list, err := follow.List(ctx, client.Resource(kind.Resource), metav1.ListOptions{})
		if err != nil && !kube.NotServed(err) {
			return fmt.Errorf("count the objects that would be deleted: %w", err)
		}
		if found[i] = list; len(list) > 0 && !o.deleteObjects {
			refusals = append(refusals, fmt.Errorf("%w: removing %s would delete %s in all namespaces; pass --delete-objects to confirm", outcome.ErrRefused, kind.CRD(), problem.Quantity(len(list), "object")))
		}
	}
	if len(refusals) > 0 {
		return outcome.Join(refusals)
	}
	for i, kind := range kinds.Shipped() {
		if err := o.deleteAll(ctx, client.Resource(kind.Resource), kind, found[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *uninstallOptions) deleteAll(ctx context.Context, client dynamic.NamespaceableResourceInterface, kind kinds.Kind, found []*unstructured.Unstructured) error {
	for _, obj := range found {
		err := client.Namespace(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	for _, obj := range found {
		if err := observe.WaitUntilGone(ctx, client.Namespace(obj.GetNamespace()), obj, o.timeout); err != nil {
			return err
		}
		if err := escape.PrintLine(o.common.streams.Out, "%s %q deleted from %s namespace", kind, obj.GetName(), obj.GetNamespace()); err != nil {
			return err
		}
	}
	return nil
}
