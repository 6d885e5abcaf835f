package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// restartOptions says whose pods to replace.
type restartOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags
	dryRun  dryRun

	targets      targetFlags
	args         []string
	fieldManager string

	wait   bool
	limits waitFlags
}

func newRestartCommand(c *clients.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &restartOptions{streams: streams, print: genericclioptions.NewPrintFlags("restarted"), fieldManager: kinds.FieldManager}
	cmd := &cobra.Command{
		Use:   "restart (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--dry-run=server|client|none] [--wait]",
		Short: "Replace the pods, a few at a time",
		Long: `Replace the pods of an ImoocPod (NAME) or of another resource (TYPE/NAME, or what
else kubectl takes) in a rolling way: the annotation that "kubectl rollout restart"
sets is put into the pod template, and the controller does the rest.

This works for all kinds that "run-controller" reconciles, for Deployments,
StatefulSets and DaemonSets, and for custom resources with a pod template at
.spec.template. Custom resources with a field for it, such as .spec.restartAt of a
Rollout, are restarted by that; imoocpod.dev/restart-path of the CRD names others.
Of the rest nothing is changed.

With --wait the command waits until all objects have new pods and are ready. It
ends with code 3 when that will not be without help (see --fail-after), 4 when the
time is over.`,
		Example: `  # Restart an ImoocPod
  kubectl imoocpod restart foo

  # Restart an ImoocPod, and come back when the new pods are ready
  kubectl imoocpod restart foo --wait --timeout 5m

  # Restart a Deployment, and everything of a label
  kubectl imoocpod restart deployment/web
  kubectl imoocpod restart appservices -l tier=front`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return o.targets.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.limits.checkWait(cmd, o.wait); err != nil {
				return err
			}
			return o.run(cmd.Context(), c)
		},
	}
	o.print.AddFlags(cmd)
	o.dryRun.addFlag(cmd)
	o.targets.addFlags(cmd)
	cmd.Flags().StringVar(&o.fieldManager, "field-manager", o.fieldManager, "Name of the manager used to track field ownership.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the objects have new pods and are ready.")
	o.limits.addWaitFlags(cmd)
	return cmd
}

func (o *restartOptions) run(ctx context.Context, c *clients.Factory) error {
	o.dryRun.complete(o.print)
	printer, err := linePrinter(o.print)
	if err != nil {
		return &outcome.UsageError{Command: name + " restart", Err: err}
	}
	targets, errs := o.targets.find(ctx, c, o.args)
	if len(targets)+len(errs) == 0 {
		return errors.New("no objects passed to restart")
	}
	// One bad object does not stop the others.
	o.wait = o.wait && o.dryRun == "none"
	var all []observe.WaitTarget
	for _, t := range targets {
		w, err := o.restart(ctx, c, t, printer)
		if err != nil {
			errs = append(errs, clients.Explain(t.Kind, err))
			continue
		}
		all = append(all, w)
	}
	if o.wait {
		errs = append(errs, awaitAll(ctx, c, o.streams, *o.print.OutputFormat, o.limits.Limits, all)...)
	}
	return outcome.Join(errs)
}

// restart restarts one object, and says so. It returns what there is to wait for.
func (o *restartOptions) restart(ctx context.Context, c *clients.Factory, t observe.Target, printer printers.ResourcePrinter) (observe.WaitTarget, error) {
	client, err := c.Dynamic()
	if err != nil {
		return observe.WaitTarget{}, err
	}
	objects := t.Resource(client)
	obj := t.Object
	if obj == nil {
		if obj, err = objects.Get(ctx, t.Name, metav1.GetOptions{}); err != nil {
			return observe.WaitTarget{}, err
		}
	}
	path, err := restartField(ctx, c, t.Kind, obj)
	if err != nil {
		t.Object = obj
		return observe.WaitTarget{}, fmt.Errorf("%s cannot be restarted: %w%s", t, err, restartBelow(ctx, c, t))
	}
	patch, err := kinds.Restart(obj, path, time.Now())
	if err != nil {
		return observe.WaitTarget{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
	}
	var before status.Snapshot
	if o.wait {
		t.Object = obj
		if before, _, err = observe.ReadTree(ctx, c, t); err != nil {
			return observe.WaitTarget{}, err
		}
	}
	if !o.dryRun.client() {
		if obj, err = o.patch(ctx, objects, t, patch); err != nil {
			return observe.WaitTarget{}, err
		}
	}
	if !o.wait {
		return observe.WaitTarget{}, printer.PrintObj(obj, o.streams.Out)
	}
	w := observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Replaced(status.NewReport(before).Pods)}, UID: obj.GetUID(), Since: obj.GetResourceVersion()}
	return w, printLine(printer, *o.print.OutputFormat, obj, o.streams.Out)
}

// restartField finds the field to change. Only for kinds that say nothing of
// themselves the schema is read.
func restartField(ctx context.Context, c *clients.Factory, kind kinds.Kind, obj *unstructured.Unstructured) ([]string, error) {
	if kind.Reconciled() || kind.BuiltIn() {
		return kinds.RestartField(kind, obj, nil, kinds.StatusFacts{})
	}
	finder, err := c.Finder()
	if err != nil {
		return nil, err
	}
	facts, err := finder.StatusFacts(ctx, kind, nil)
	if err != nil {
		return nil, err
	}
	schema, err := finder.Schema(kind)
	if err != nil {
		return nil, err
	}
	return kinds.RestartField(kind, obj, schema, facts)
}

// restartBelow names what an object of another program owns that can be restarted
// in its place. Who may not read that is told nothing.
func restartBelow(ctx context.Context, c *clients.Factory, t observe.Target) string {
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return ""
	}
	e, _, err := observe.ReadTree(ctx, c, t)
	if err != nil {
		return ""
	}
	var below []string
	for _, child := range status.NewReport(e).Tree.Children {
		if kind := strings.ToLower(child.Kind); slices.Contains([]string{"deployment", "statefulset", "daemonset"}, kind) {
			below = append(below, kind+".apps/"+child.Name)
		}
	}
	if len(below) == 0 {
		return ""
	}
	return "\nhint: restart what it owns, though its controller may undo it: kubectl imoocpod restart " + strings.Join(below, " ") + inNamespaceOf(t)
}

func (o *restartOptions) patch(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return objects.Patch(ctx, t.Name, types.MergePatchType, data, metav1.PatchOptions{
		FieldManager: o.fieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
	})
}
