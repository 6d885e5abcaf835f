package cmd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// noCurrent is the value of --current-replicas that asks for nothing.
const noCurrent = -1

// scaleOptions says what to scale, to what, and on which conditions.
type scaleOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags
	dryRun  dryRun

	name            string
	replicas        int32
	current         int32
	resourceVersion string
	timeout         time.Duration
}

func newScaleCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &scaleOptions{streams: streams, print: genericclioptions.NewPrintFlags("scaled"), current: noCurrent}
	cmd := &cobra.Command{
		Use:   "scale NAME --replicas=COUNT [--resource-version=version] [--current-replicas=count] [--timeout=duration]",
		Short: "Set a new number of replicas",
		Long: `Set a new number of replicas for an ImoocPod, in one request.

With --current-replicas or --resource-version the change is made only if the
object still is as given. With --timeout the command waits until the controller
has seen the change and all pods are ready.`,
		Example: `  # Scale to three
  kubectl imoocpod scale foo --replicas 3

  # Scale to three and wait until they are ready
  kubectl imoocpod scale foo --replicas 3 --timeout 1m

  # Scale from two to three, and not from anything else
  kubectl imoocpod scale foo --current-replicas 2 --replicas 3`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			switch {
			case !cmd.Flags().Changed("replicas"):
				return usageErrorf(cmd, "--replicas is required: how many are wanted?")
			case o.resourceVersion != "" && !isResourceVersion(o.resourceVersion):
				return usageErrorf(cmd, "--resource-version must be the metadata.resourceVersion of the object, a whole number, not %q", o.resourceVersion)
			case o.timeout < 0:
				return usageErrorf(cmd, "--timeout must be 0 (do not wait) or more, not %s", o.timeout)
			}
			return o.run(cmd.Context(), c)
		},
	}
	o.print.AddFlags(cmd)
	o.dryRun.addFlag(cmd)
	cmd.Flags().VarP(count{&o.replicas, 0}, "replicas", "r", "The new desired number of replicas. Required.")
	cmd.Flags().Var(count{&o.current, noCurrent}, "current-replicas", "Precondition for current size. Requires that the current size of the resource match this value in order to scale. -1 (default) for no condition.")
	cmd.Flags().StringVar(&o.resourceVersion, "resource-version", "", "Precondition for resource version. Requires that the current resource version match this value in order to scale.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "The length of time to wait until the controller has seen the change and all pods are ready, zero means don't wait. Any other values should contain a corresponding time unit (e.g. 1s, 2m, 3h).")
	return cmd
}

func (o *scaleOptions) run(ctx context.Context, c *clients) error {
	o.dryRun.complete(o.print)
	printer, err := o.print.ToPrinter()
	if err != nil {
		return &UsageError{Command: name + " scale", Err: err}
	}
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
	if err := o.checkCurrent(ctx, kind, objects); err != nil {
		return explain(kind, err)
	}
	resourceVersion := ""
	if !o.dryRun.client() {
		scale, err := replica.SetScale(ctx, objects, o.name, o.replicas, o.resourceVersion, o.dryRun.server())
		if err != nil {
			return explain(kind, err)
		}
		resourceVersion = scale.ResourceVersion
	}
	obj, err := o.result(ctx, kind, objects, namespace)
	if err != nil {
		return explain(kind, err)
	}
	if err := printer.PrintObj(obj, o.streams.Out); err != nil {
		return err //nolint:wrapcheck // a closed stdout
	}
	if o.timeout == 0 || o.dryRun != "none" {
		return nil
	}
	return awaitReady(ctx, kind, objects, o.name, resourceVersion, o.timeout)
}

// isResourceVersion says whether a word can be one: a whole number.
func isResourceVersion(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}

// checkCurrent reads the present count and pins the version it was read at, so
// that nothing can change between the look and the change.
func (o *scaleOptions) checkCurrent(ctx context.Context, kind replica.Kind, objects dynamic.ResourceInterface) error {
	if o.current == noCurrent {
		return nil
	}
	scale, err := replica.GetScale(ctx, objects, o.name)
	if err != nil {
		return err //nolint:wrapcheck // the server names the object
	}
	if scale.Spec.Replicas != o.current {
		return fmt.Errorf("%w: expected the replicas of %s/%s to be %d, was %d", ErrPrecondition, kind, o.name, o.current, scale.Spec.Replicas)
	}
	if o.resourceVersion == "" {
		o.resourceVersion = scale.ResourceVersion
	}
	return nil
}

// result is the object to print. Its name needs no request; the formats that
// show more of it read it.
func (o *scaleOptions) result(ctx context.Context, kind replica.Kind, objects dynamic.ResourceInterface, namespace string) (*unstructured.Unstructured, error) {
	format := *o.print.OutputFormat
	if (format == "" || format == "name") && !o.dryRun.client() {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.GroupVersionKind())
		obj.SetNamespace(namespace)
		obj.SetName(o.name)
		return obj, nil
	}
	obj, err := objects.Get(ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return nil, err //nolint:wrapcheck // the server names the object
	}
	// A server was not asked to check this, and what it would refuse must not look done.
	if o.dryRun.client() && o.resourceVersion != "" && o.resourceVersion != obj.GetResourceVersion() {
		return nil, fmt.Errorf("%w: expected the resource version of %s/%s to be %s, was %s", ErrPrecondition, kind, o.name, o.resourceVersion, obj.GetResourceVersion())
	}
	if err := unstructured.SetNestedField(obj.Object, int64(o.replicas), kind.ReplicasPath...); err != nil {
		return nil, fmt.Errorf("show the new count: %w", err)
	}
	return obj, nil
}

// awaitReady waits until the controller has seen an object as it is at this
// resourceVersion or later, and has made it ready.
func awaitReady(ctx context.Context, kind replica.Kind, objects dynamic.ResourceInterface, name, resourceVersion string, timeout time.Duration) error {
	reason := "nothing"
	err := awaitObject(ctx, objects, name, timeout, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			return false, fmt.Errorf("%s/%s was %w while it was waited for", kind, name, ErrGone)
		}
		if !atLeast(obj, resourceVersion) {
			return false, nil
		}
		facts, err := kind.Facts(obj)
		if err != nil {
			return false, err //nolint:wrapcheck // it names the object
		}
		verdict, why, _ := status.Judge(facts)
		reason = fmt.Sprintf("%s: %s", verdict, why)
		return verdict == status.Ready, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s/%s to be ready: %w", kind, name, withReason(err, reason))
	}
	return nil
}
