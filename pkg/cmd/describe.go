package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

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
	report, t, err := look(ctx, c, t)
	if err != nil {
		return err
	}
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

// eventsOf lists the events of some objects.
func eventsOf(ctx context.Context, client corev1client.EventInterface, uids ...types.UID) ([]corev1.Event, error) {
	var all []corev1.Event
	for _, uid := range uids {
		list, err := client.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String()})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// look reads a target, unless that was done, and what stands below it, and
// makes the model of it.
func look(ctx context.Context, c *clients, t target) (status.Report, target, error) {
	client, err := c.dynamic()
	if err != nil {
		return status.Report{}, t, err
	}
	if t.obj == nil {
		if t.obj, err = t.objects(client).Get(ctx, t.name, metav1.GetOptions{}); err != nil {
			return status.Report{}, t, err
		}
	}
	o, err := facts(ctx, c, client, t)
	if err != nil {
		return status.Report{}, t, err
	}
	pods, err := family(ctx, c, t, &o)
	if err != nil {
		return status.Report{}, t, err
	}
	return status.NewReport(o, pods), t, nil
}
