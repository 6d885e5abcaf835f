package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// forever is how long kubectl waits where no time-out is given.
const forever = 168 * time.Hour

// deleteOptions says what to delete and what becomes of its pods.
type deleteOptions struct {
	streams genericiooptions.IOStreams

	name           string
	cascade        string
	wait           bool
	timeout        time.Duration
	ignoreNotFound bool
	output         string
}

func newDeleteCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &deleteOptions{streams: streams, cascade: "background", wait: true}
	cmd := &cobra.Command{
		Use:   "delete NAME [--cascade=background|foreground|orphan] [--wait]",
		Short: "Delete an ImoocPod, and with it its pods",
		Long: `Delete an ImoocPod. Its pods are removed by the cluster's garbage collector,
whether or not a controller runs: afterwards (background), before (foreground),
or not at all (orphan).`,
		Example: `  # Delete an ImoocPod and its pods
  kubectl imoocpod delete foo

  # Return when the pods are gone too
  kubectl imoocpod delete foo --cascade=foreground

  # Keep the pods
  kubectl imoocpod delete foo --cascade=orphan`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.output != "" && o.output != "name" {
				return usageErrorf(cmd, "unknown output format %q: the only one is name", o.output)
			}
			if o.timeout < 0 {
				return usageErrorf(cmd, "--timeout must be 0 (as long as it takes) or more, not %s", o.timeout)
			}
			policy, known := map[string]metav1.DeletionPropagation{
				"background": metav1.DeletePropagationBackground,
				"foreground": metav1.DeletePropagationForeground,
				"orphan":     metav1.DeletePropagationOrphan,
			}[o.cascade]
			if !known {
				return usageErrorf(cmd, `invalid --cascade %q: must be "background", "foreground", or "orphan"`, o.cascade)
			}
			return o.run(cmd.Context(), c, policy)
		},
	}
	cmd.Flags().StringVar(&o.cascade, "cascade", o.cascade, `Must be "background", "foreground", or "orphan". What becomes of the pods: deleted after the object, before it, or kept.`)
	cmd.Flags().Lookup("cascade").NoOptDefVal = "background"
	cmd.Flags().BoolVar(&o.wait, "wait", o.wait, "If true, wait for the object to be gone before returning.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "The length of time to wait before giving up on a delete, zero means as long as it takes.")
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, `Treat "not found" as a successful delete.`)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", `Output mode. Use "-o name" for shorter output (resource/name).`)
	return cmd
}

func (o *deleteOptions) run(ctx context.Context, c *clients, policy metav1.DeletionPropagation) error {
	kind := replica.ImoocPod()
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	objects := client.Resource(kind.Resource).Namespace(namespace)
	var present *unstructured.Unstructured
	if o.wait {
		present, err = objects.Get(ctx, o.name, metav1.GetOptions{})
		if o.ignoreNotFound && apierrors.IsNotFound(err) && !notServed(err) {
			return nil
		}
		if err != nil {
			return explain(kind, err)
		}
	}
	err = objects.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if o.ignoreNotFound && apierrors.IsNotFound(err) && !notServed(err) {
		return nil
	}
	if err != nil {
		return explain(kind, err)
	}
	if err := o.print(kind, namespace); err != nil {
		return err
	}
	if !o.wait {
		return nil
	}
	timeout := o.timeout
	if timeout == 0 {
		timeout = forever
	}
	err = awaitGone(ctx, objects, present, timeout)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; it is being deleted, and --wait=false would not have waited", err)
	}
	return err
}

func (o *deleteOptions) print(kind replica.Kind, namespace string) error {
	format, args := "%s %q deleted from %s namespace\n", []any{kind.String(), o.name, namespace}
	if o.output == "name" {
		format, args = "%s/%s\n", args[:2]
	}
	_, err := fmt.Fprintf(o.streams.Out, format, args...)
	return err //nolint:wrapcheck // a closed stdout
}
