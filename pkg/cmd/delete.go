package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type deleteOptions struct {
	targets        targetFlags
	cascade        string
	wait           bool
	timeout        time.Duration
	ignoreNotFound bool
	dryRun         dryRun
	output         *output
}

func newDeleteCommand(common commonOptions) *cobra.Command {
	o := &deleteOptions{targets: targetFlags{optional: true}, cascade: "background", wait: true}
	cmd := &cobra.Command{
		Use:   "delete (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [flags]",
		Short: "Delete an ImoocPod or another object with its pods",
		Long: `Delete an ImoocPod (NAME) or other objects (TYPE/NAME). The garbage collector of the
cluster removes their pods, whether or not a controller runs.`,
		Example: `  # Delete an ImoocPod and its pods
  kubectl imoocpod delete foo

  # Delete an ImoocPod and wait until its pods are gone
  kubectl imoocpod delete foo --cascade=foreground`,
	}
	o.targets.addFlags(cmd)
	o.dryRun.addFlag(cmd)
	addChoice(cmd, &o.cascade, "cascade", "Must be %s. Delete the pods after the object, before it, or not at all.", "background", "foreground", "orphan")
	cmd.Flags().Lookup("cascade").NoOptDefVal = "background"
	cmd.Flags().BoolVar(&o.wait, "wait", o.wait, "If true, wait for the object to be gone before returning.")
	addTimeout(cmd, &o.timeout)
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, `Treat "not found" as a successful delete.`)
	o.output = addOutputFlag(cmd, "Output mode. One of: (%s), for shorter output (resource/name).", "name")
	return o.targets.command(cmd, common, o.complete, o.run)
}

func (o *deleteOptions) complete(args []string) error {
	return cmp.Or(o.targets.complete(args), o.output.validate())
}

func (o *deleteOptions) run(ctx context.Context, c *cluster) error {
	targets, errs := o.targets.find(ctx, c)
	if o.ignoreNotFound {
		errs = slices.DeleteFunc(errs, func(err error) bool { return kube.NotFound(err) || errors.Is(err, errNothingFound) })
	}
	waits := o.wait && o.dryRun == "none"
	// Delete all objects before the first wait, so that they terminate in parallel.
	var going []observe.WaitTarget
	for i := range targets {
		t := &targets[i]
		err := o.delete(ctx, c, t, waits)
		switch {
		case o.ignoreNotFound && kube.NotFound(err) && !o.targets.namesType(ctx, c):
		case err != nil:
			errs = append(errs, kube.Explain(t.Kind, err))
		case waits:
			going = append(going, observe.WaitTarget{Target: *t, Conditions: []observe.Condition{observe.Gone()}, UID: t.Object.GetUID()})
		}
	}
	for _, err := range c.awaitAll(ctx, "", waitFlags{Limits: observe.Limits{Timeout: o.timeout}}, going, nil, nil) {
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; the object is being deleted; to return without waiting, use --wait=false", err)
		}
		errs = append(errs, err)
	}
	return outcome.Join(errs)
}

// delete deletes one object and prints a line. It first reads the object if the wait needs the UID, or if a
// client-side dry run must check that the object exists.
func (o *deleteOptions) delete(ctx context.Context, c *cluster, t *observe.Target, waits bool) error {
	if waits || o.dryRun.client() {
		if err := t.Read(ctx, c.Dynamic); err != nil {
			return err
		}
	}
	if !o.dryRun.client() {
		policy := map[string]metav1.DeletionPropagation{
			"background": metav1.DeletePropagationBackground,
			"foreground": metav1.DeletePropagationForeground,
			"orphan":     metav1.DeletePropagationOrphan,
		}[o.cascade]
		err := t.Resource(c.Dynamic).Delete(ctx, t.Name, metav1.DeleteOptions{PropagationPolicy: &policy, DryRun: o.dryRun.server()})
		if err != nil {
			return err
		}
	}
	where := "deleted"
	switch {
	case o.output.format == "name":
		return escape.PrintLine(c.streams.Out, "%s/%s", t.Kind, t.Name)
	case !t.Kind.Clusterwide:
		where += " from " + t.Namespace + " namespace"
	}
	return escape.PrintLine(c.streams.Out, "%s %q %s", t.Kind, t.Name, o.dryRun.mark(where))
}
