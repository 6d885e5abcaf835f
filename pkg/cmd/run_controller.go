package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// defaultWorkers is how many objects are reconciled at the same time: enough
// that one which waits for a slow answer does not hold up the others.
const defaultWorkers = 8

// runControllerOptions says what the loop works on.
type runControllerOptions struct {
	streams       genericiooptions.IOStreams
	out           *lines
	version       string
	allNamespaces bool
	workers       int
	lease         leaseOptions
}

func newRunControllerCommand(c *clients, version string, streams genericiooptions.IOStreams) *cobra.Command {
	o := &runControllerOptions{streams: streams, version: version, workers: defaultWorkers}
	cmd := &cobra.Command{
		Use:   "run-controller [--namespace=NAMESPACE | --all-namespaces] [--workers=COUNT]",
		Short: "Run the controller here, in the foreground, until Ctrl-C",
		Long: `Run the controller here, in the foreground, against the current context. It makes
and removes the pods of ImoocPods until Ctrl-C; the objects and their pods stay.
It may be stopped or killed at any moment: the next one goes on where it was.

A lease lets one loop work at a time in a namespace, or in all of them. A second
one says who has it, and waits. It is given up at Ctrl-C, and taken over at once
from a loop that was killed on this machine.`,
		Example: `  # Reconcile the ImoocPods of the current namespace
  kubectl imoocpod run-controller

  # Reconcile those of all namespaces
  kubectl imoocpod run-controller -A

  # Fail, with exit code 7, if another loop does so already
  kubectl imoocpod run-controller --if-held=exit`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.workers < 1 {
				return usageErrorf(cmd, "--workers must be 1 or more, not %d", o.workers)
			}
			return o.run(cmd.Context(), c)
		},
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Reconcile the objects of all namespaces.")
	cmd.Flags().IntVar(&o.workers, "workers", o.workers, "How many objects are reconciled at the same time.")
	o.lease.addFlags(cmd)
	return cmd
}

func (o *runControllerOptions) run(ctx context.Context, c *clients) error {
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	where := "namespace " + namespace
	if o.allNamespaces {
		namespace, where = metav1.NamespaceAll, "all namespaces"
	}
	core, err := c.core()
	if err != nil {
		return err
	}
	kind := replica.ImoocPod()
	if err := o.announce(c, where, kind); err != nil {
		return err
	}
	if err := checkNamespace(ctx, core, namespace); err != nil {
		return err
	}
	config, err := c.config()
	if err != nil {
		return err
	}
	o.out = &lines{to: o.streams.Out}
	err = o.lease.hold(ctx, config, controller.ThisProcess(o.version, status.Scope{Namespace: namespace}), o.out.say,
		func(ctx context.Context, config *rest.Config) error { return o.reconcile(ctx, config, namespace) })
	if ctx.Err() == nil {
		return err
	}
	return nil // Ctrl-C is how it is meant to end
}

// reconcile runs a loop until the context ends.
func (o *runControllerOptions) reconcile(ctx context.Context, config *rest.Config, namespace string) error {
	dynamic, err := dynamicFor(config)
	if err != nil {
		return err
	}
	core, err := coreFor(config)
	if err != nil {
		return err
	}
	loop, err := controller.New(controller.Options{
		Dynamic:   dynamic,
		Core:      core,
		Kinds:     []replica.Kind{replica.ImoocPod()},
		Namespace: namespace,
		Workers:   o.workers,
		Out:       o.out,
	})
	if err != nil {
		return err
	}
	return loop.Run(ctx)
}

// checkNamespace says when a namespace is not there: nothing would ever happen
// in one that is misspelled. Who may not look is let pass.
func checkNamespace(ctx context.Context, core corev1client.CoreV1Interface, namespace string) error {
	if namespace == metav1.NamespaceAll {
		return nil
	}
	_, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// announce says at once what the loop will act on.
func (o *runControllerOptions) announce(c *clients, where string, kind replica.Kind) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	raw, err := c.kubeconfig()
	if err != nil {
		return err
	}
	current := raw.CurrentContext
	if given := *c.flags.Context; given != "" {
		current = given
	}
	_, err = fmt.Fprintf(o.streams.Out, "Reconciling %s in %s of context %q at %s. Stop with Ctrl-C.\n", kind.CRD(), where, current, config.Host)
	return err
}
