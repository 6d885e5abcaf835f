package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
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
	targets, errs := o.targets.find(c, o.args)
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
	evidence, t, err := look(ctx, c, t)
	if err != nil {
		return err
	}
	report := status.NewReport(evidence)
	core, err := c.core()
	if err != nil {
		return err
	}
	events, err := eventsOf(ctx, core.Events(t.namespace), t.obj.GetUID())
	if err != nil {
		return err
	}
	podEvents, err := eventsOf(ctx, core.Events(t.namespace), unready(report)...)
	if err != nil {
		return err
	}
	d := printer.Description{
		Report:      report,
		APIVersion:  t.obj.GetAPIVersion(),
		Kind:        t.obj.GetKind(),
		Labels:      t.obj.GetLabels(),
		Annotations: t.obj.GetAnnotations(),
		Events:      events,
		PodEvents:   podEvents,
	}
	if t.kind.Shipped() {
		if d.Template, err = replica.Template(t.kind, t.obj); err != nil {
			return err
		}
	} else {
		d.Spec = t.obj.Object["spec"]
		d.Status = t.obj.Object["status"]
	}
	return printer.Describe(o.streams.Out, d, time.Now())
}

// unreadyShown is of how many pods that are not ready the events are shown: what
// ails one mostly ails all.
const unreadyShown = 5

// unready gives the UIDs of the first pods of a report that are not ready.
func unready(r status.Report) []types.UID {
	var uids []types.UID
	for _, pod := range r.Pods {
		if !pod.Ready && len(uids) < unreadyShown {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}
