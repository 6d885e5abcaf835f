package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// defaultWorkers is how many objects are reconciled at the same time: enough
// that one which waits for a slow answer does not hold up the others.
const defaultWorkers = 8

// runControllerOptions says what the loop works on.
type runControllerOptions struct {
	streams       genericiooptions.IOStreams
	allNamespaces bool
	workers       int
}

func newRunControllerCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &runControllerOptions{streams: streams, workers: defaultWorkers}
	cmd := &cobra.Command{
		Use:   "run-controller [--namespace=NAMESPACE | --all-namespaces] [--workers=COUNT]",
		Short: "Run the controller here, in the foreground, until Ctrl-C",
		Long: `Run the controller here, in the foreground, against the current context. It makes
and removes the pods of ImoocPods until Ctrl-C; the objects and their pods stay.
It may be stopped or killed at any moment: the next one goes on where it was.`,
		Example: `  # Reconcile the ImoocPods of the current namespace
  kubectl imoocpod run-controller

  # Reconcile those of all namespaces
  kubectl imoocpod run-controller -A`,
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
	dynamic, err := c.dynamic()
	if err != nil {
		return err
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
	loop, err := controller.New(controller.Options{
		Dynamic:   dynamic,
		Core:      core,
		Kinds:     []replica.Kind{kind},
		Namespace: namespace,
		Workers:   o.workers,
		Out:       o.streams.Out,
	})
	if err != nil {
		return err
	}
	if err := loop.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil // Ctrl-C is how it is meant to end
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
