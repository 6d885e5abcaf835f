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

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
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

func newRestartCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
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

func (o *restartOptions) run(ctx context.Context, c *clients) error {
	o.dryRun.complete(o.print)
	printer, err := linePrinter(o.print)
	if err != nil {
		return &UsageError{Command: name + " restart", Err: err}
	}
	targets, errs := o.targets.find(ctx, c, o.args)
	if len(targets)+len(errs) == 0 {
		return errors.New("no objects passed to restart")
	}
	// One bad object does not stop the others.
	o.wait = o.wait && o.dryRun == "none"
	var all []awaited
	for _, t := range targets {
		w, err := o.restart(ctx, c, t, printer)
		if err != nil {
			errs = append(errs, explain(t.kind, err))
			continue
		}
		all = append(all, w)
	}
	if o.wait {
		errs = append(errs, awaitAll(ctx, c, o.streams, *o.print.OutputFormat, o.limits, all)...)
	}
	return together(errs)
}

// restart restarts one object, and says so. It returns what there is to wait for.
func (o *restartOptions) restart(ctx context.Context, c *clients, t target, printer printers.ResourcePrinter) (awaited, error) {
	client, err := c.dynamic()
	if err != nil {
		return awaited{}, err
	}
	objects := t.objects(client)
	obj := t.obj
	if obj == nil {
		if obj, err = objects.Get(ctx, t.name, metav1.GetOptions{}); err != nil {
			return awaited{}, err
		}
	}
	path, err := restartField(ctx, c, t.kind, obj)
	if err != nil {
		t.obj = obj
		return awaited{}, fmt.Errorf("%s cannot be restarted: %w%s", t, err, restartBelow(ctx, c, t))
	}
	patch, err := kinds.Restart(obj, path, time.Now())
	if err != nil {
		return awaited{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
	}
	var before status.Evidence
	if o.wait {
		t.obj = obj
		if before, _, err = lookBelow(ctx, c, t); err != nil {
			return awaited{}, err
		}
	}
	if !o.dryRun.client() {
		if obj, err = o.patch(ctx, objects, t, patch); err != nil {
			return awaited{}, err
		}
	}
	if !o.wait {
		return awaited{}, printer.PrintObj(obj, o.streams.Out)
	}
	w := awaited{target: t, goals: []goal{replaced(status.NewReport(before).Pods)}, uid: obj.GetUID(), since: obj.GetResourceVersion()}
	return w, printLine(printer, *o.print.OutputFormat, obj, o.streams.Out)
}

// restartField finds the field to change. Only for kinds that say nothing of
// themselves the schema is read.
func restartField(ctx context.Context, c *clients, kind kinds.Kind, obj *unstructured.Unstructured) ([]string, error) {
	if kind.Reconciled() || kind.BuiltIn() {
		return kinds.RestartField(kind, obj, nil, kinds.StatusFacts{})
	}
	finder, err := c.finder()
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
func restartBelow(ctx context.Context, c *clients, t target) string {
	if t.kind.Reconciled() || t.kind.BuiltIn() {
		return ""
	}
	e, _, err := lookBelow(ctx, c, t)
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

func (o *restartOptions) patch(ctx context.Context, objects dynamic.ResourceInterface, t target, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return objects.Patch(ctx, t.name, types.MergePatchType, data, metav1.PatchOptions{
		FieldManager: o.fieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
	})
}
