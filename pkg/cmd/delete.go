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
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type deleteOptions struct {
	targetFlags
	commonOptions

	cascade        cascade
	wait           bool
	timeout        time.Duration
	ignoreNotFound bool
	dryRun         dryRun
	output         *output
}

func newDeleteCommand(common commonOptions) *cobra.Command {
	o := &deleteOptions{commonOptions: common, cascade: background, wait: true}
	cmd := &cobra.Command{
		Use:   "delete (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--cascade=background|foreground|orphan] [--dry-run=server|client|none] [--wait]",
		Short: "Delete an ImoocPod or another object with its pods",
		Long: `Delete an ImoocPod (NAME) or other objects (TYPE/NAME, or other arguments of
kubectl). The garbage collector of the cluster removes their pods, whether or not
a controller runs: after the object (background), before it (foreground), or not
at all (orphan).`,
		Example: `  # Delete an ImoocPod and its pods
  kubectl imoocpod delete foo

  # Delete an ImoocPod and wait until its pods are gone
  kubectl imoocpod delete foo --cascade=foreground

  # Delete an ImoocPod and keep its pods
  kubectl imoocpod delete foo --cascade=orphan`,
	}
	o.addFlags(cmd)
	o.dryRun.addFlag(cmd)
	addChoice(cmd, &o.cascade, "cascade", "Must be %s. Delete the pods after the object, before it, or not at all.", background, foreground, orphan)
	cmd.Flags().Lookup("cascade").NoOptDefVal = "background"
	cmd.Flags().BoolVar(&o.wait, "wait", o.wait, "If true, wait for the object to be gone before returning.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "The length of time to wait before giving up on a delete, zero means to wait forever.")
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, `Treat "not found" as a successful delete.`)
	o.output = addOutputFlag(cmd, "Output mode. One of: (%s), for shorter output (resource/name).", "name")
	return bind(cmd, o)
}

func (o *deleteOptions) validate() error {
	if o.timeout < 0 {
		return usageErrorf("--timeout must be 0 (wait forever) or more, not %s", o.timeout)
	}
	return o.output.validate()
}

// cascade is kubectl's --cascade.
type cascade string

const (
	background cascade = "background"
	foreground cascade = "foreground"
	orphan     cascade = "orphan"
)

// policy is what the server calls it.
func (c cascade) policy() metav1.DeletionPropagation {
	return map[cascade]metav1.DeletionPropagation{
		background: metav1.DeletePropagationBackground,
		foreground: metav1.DeletePropagationForeground,
		orphan:     metav1.DeletePropagationOrphan,
	}[c]
}

func (o *deleteOptions) Run(ctx context.Context) error {
	targets, errs := o.find(ctx, o.clients)
	if o.ignoreNotFound {
		errs = slices.DeleteFunc(errs, kube.NotFound)
	}
	if len(targets)+len(errs) == 0 {
		if o.ignoreNotFound {
			return nil
		}
		return o.sayNothingFound(&o.commonOptions)
	}
	client, err := o.clients.Dynamic()
	if err != nil {
		return err
	}
	o.wait = o.wait && o.dryRun == "none"
	// All are asked to go before any is waited for: they go together.
	var going []observe.WaitTarget
	for _, t := range targets {
		asked, err := o.delete(ctx, t, t.Resource(client))
		if err != nil {
			errs = append(errs, kube.Explain(t.Kind, err))
		}
		if asked != nil {
			going = append(going, observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Gone()}, UID: asked.GetUID()})
		}
	}
	if o.wait {
		for _, err := range o.awaitAll(ctx, "", waitFlags{Limits: observe.Limits{Timeout: o.timeout}}, going) {
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w; the object is being deleted; to return without waiting, use --wait=false", err)
			}
			errs = append(errs, err)
		}
	}
	return outcome.Join(errs)
}

// delete asks the server to delete one object, and says so. It returns the
// object as it was, if it was read, and nil if there was none and that is no error.
func (o *deleteOptions) delete(ctx context.Context, t observe.Target, objects dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
	if (o.wait || o.dryRun.client()) && t.Object == nil {
		present, err := objects.Get(ctx, t.Name, metav1.GetOptions{})
		if o.ignoreNotFound && kube.NotFound(err) {
			return nil, nil //nolint:nilnil // there is none, as was asked for
		}
		if err != nil {
			return nil, err
		}
		t.Object = present
	}
	if o.dryRun.client() {
		return nil, o.print(t)
	}
	err := objects.Delete(ctx, t.Name, metav1.DeleteOptions{PropagationPolicy: new(o.cascade.policy()), DryRun: o.dryRun.server()})
	if o.ignoreNotFound && kube.NotFound(err) {
		return nil, nil //nolint:nilnil // likewise
	}
	if err != nil {
		return nil, err
	}
	return t.Object, o.print(t)
}

func (o *deleteOptions) print(t observe.Target) error {
	switch {
	case o.output.format == "name":
		return escape.PrintLine(o.streams.Out, "%s/%s", t.Kind, t.Name)
	case t.Kind.Clusterwide:
		return escape.PrintLine(o.streams.Out, "%s %q %s", t.Kind, t.Name, o.dryRun.mark("deleted"))
	}
	return escape.PrintLine(o.streams.Out, "%s %q %s", t.Kind, t.Name, o.dryRun.mark("deleted from "+t.Namespace+" namespace"))
}
