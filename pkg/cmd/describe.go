package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// describeOptions says what to describe.
type describeOptions struct {
	streams genericiooptions.IOStreams
	targets targetFlags
	args    []string
}

func newDescribeCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &describeOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "describe (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME)",
		Short: "Show details of an ImoocPod or another object, its pods and its events",
		Example: `  # All that is known of an ImoocPod
  kubectl imoocpod describe foo

  # The same of anything that has pods
  kubectl imoocpod describe deployment/web`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return o.targets.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), c)
		},
	}
	o.targets.addFlags(cmd)
	return cmd
}

func (o *describeOptions) run(ctx context.Context, c *clients) error {
	targets, errs := o.targets.find(ctx, c, o.args)
	for i, t := range targets {
		if i > 0 {
			if _, err := fmt.Fprint(o.streams.Out, "\n\n"); err != nil {
				return err
			}
		}
		if err := o.describe(ctx, c, t); err != nil {
			errs = append(errs, explain(t.kind, err))
		}
	}
	return together(errs)
}

func (o *describeOptions) describe(ctx context.Context, c *clients, t target) error {
	evidence, t, err := lookAtAll(ctx, c, t)
	if err != nil {
		return err
	}
	d := printer.Description{
		Report:      status.NewReport(evidence),
		APIVersion:  t.obj.GetAPIVersion(),
		Kind:        t.obj.GetKind(),
		Labels:      t.obj.GetLabels(),
		Annotations: t.obj.GetAnnotations(),
	}
	if t.kind.Mapping.Strategy == kinds.StrategyPods {
		if d.Template, err = kinds.Template(t.kind, t.obj); err != nil {
			return err
		}
	} else {
		d.Spec = t.obj.Object["spec"]
		d.Status = t.obj.Object["status"]
	}
	return printer.Describe(o.streams.Out, d, time.Now())
}
