package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type parkOptions struct {
	change changeFlags
	// back means that the verb is unpark.
	back bool
	path *fieldpath.Path
	yes  bool
}

func newParkCommand(common commonOptions) *cobra.Command {
	o := &parkOptions{change: newChangeFlags(common, "parked")}
	cmd := &cobra.Command{
		Use:   "park (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [flags]",
		Short: "Scale to zero and remember the replica count",
		Long: `Scale an ImoocPod (NAME) or other objects (TYPE/NAME) to zero, and remember the
replica count in an annotation of the object. "unpark" restores it. Until then "status"
reports the object as parked. Objects whose count cannot be zero are refused.

With -l or --all and no type, the command parks the objects of all types with a
replica count that no other object owns. On a terminal, it asks before it parks more
than one object.`,
		Example: `  # Park an ImoocPod and a Deployment
  kubectl imoocpod park imoocpod/foo deployment/web

  # Park all objects with a label, whatever their type, and say why
  kubectl imoocpod park -l env=dev --reason INC-7

  # Park everything in a namespace, without a question on a terminal
  kubectl imoocpod park --all -n dev --yes`,
	}
	o.change.addReasonFlag(cmd)
	addYesFlag(cmd, &o.yes)
	return o.command(cmd)
}

func newUnparkCommand(common commonOptions) *cobra.Command {
	o := &parkOptions{change: newChangeFlags(common, "unparked"), back: true}
	return o.command(&cobra.Command{
		Use:   "unpark (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [flags]",
		Short: "Restore the replica count of a parked object",
		Long: `Restore the replica count that "park" has saved, and remove the annotation. If
someone has scaled the object since it was parked, the command leaves it as it is
and exits with code 5. Objects that are not parked stay as they are. The command
refuses to write a field that is not the replica count, whatever the annotation names.
If you passed --replicas-path to "park", pass the same path here.

With -l or --all and no type, the command restores the parked objects of all types.`,
		Example: `  # Restore an ImoocPod
  kubectl imoocpod unpark foo

  # Restore all objects with a label, whatever their type
  kubectl imoocpod unpark -l env=dev`,
	})
}

// command adds the flags that park and unpark share, makes cmd run the verb, and returns cmd.
func (o *parkOptions) command(cmd *cobra.Command) *cobra.Command {
	o.change.targets.without, o.change.targets.optional = toWrite, true
	addReplicasPathFlag(cmd, &o.path)
	o.change.addFlags(cmd)
	return o.change.targets.command(cmd, o.change.common, o.change.complete, o.run)
}

func (o *parkOptions) run(ctx context.Context, on *cluster) error {
	c := newChanger(ctx, on, &o.change)
	targets, errs := o.change.targets.find(ctx, on)
	if o.change.targets.untyped() {
		targets = slices.DeleteFunc(targets, o.skips)
	}
	if len(targets)+len(errs) == 0 {
		return errNothingFound
	}
	var all []func() (*change, error)
	var counts []printer.CountChange
	for i := range targets {
		t := &targets[i]
		var now replicas.ParkPlan
		plan, err := o.plan(ctx, c, t)
		if err == nil {
			now, err = plan(t.Object)
		}
		switch {
		case o.change.targets.untyped() && errors.Is(err, replicas.ErrNotPods):
			c.printErrf("%v", err)
		case err != nil:
			errs = append(errs, kube.Explain(t.Kind, err))
		case now.Kept != "" && !c.waits:
			c.printErrf("%s: %s", t, now.Kept)
		default:
			if now.Kept == "" {
				counts = append(counts, printer.CountChange{Namespace: t.Namespace, Name: t.String(), Before: &now.Before, After: &now.After})
			}
			all = append(all, func() (*change, error) { return o.park(ctx, c, t, plan, now) })
		}
	}
	if agreed, err := c.confirm(counts, o.yes); err != nil || !agreed {
		return outcome.Join(append(errs, err))
	}
	return makeAll(ctx, c, all, errs, func(park func() (*change, error)) (*change, error) { return park() })
}

// skips reports whether a command without types leaves out an object. park skips kinds that have no replica count, and
// unpark skips objects that are not parked.
func (o *parkOptions) skips(t observe.Target) bool {
	if o.back {
		_, parked := t.Object.GetAnnotations()[apis.AnnotationParked]
		return !parked
	}
	return t.Kind.CRD() == kinds.DaemonSets || t.Kind.Mapping.Strategy.WithoutReplicas()
}

// plan reads an object and returns the function that plans its change.
func (o *parkOptions) plan(ctx context.Context, c *changer, t *observe.Target) (func(*unstructured.Unstructured) (replicas.ParkPlan, error), error) {
	if err := t.Read(ctx, c.Dynamic); err != nil {
		return nil, err
	}
	t.Path = o.path
	if o.back {
		counts, err := c.Finder.ParkedCounts(ctx, t.Kind, t.Object, t.Path)
		return func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) {
			return replicas.Unpark(*t, obj, counts)
		}, err
	}
	path, err := c.countPath(ctx, "park", t)
	if err != nil {
		return nil, err
	}
	unit := "pod"
	if !t.Kind.Reconciled() {
		known, err := observe.StatusFacts(ctx, c.Finder, t.Kind, path)
		if err != nil {
			return nil, err
		}
		unit = known.Unit
	}
	return func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) {
		return replicas.Park(*t, obj, *path, unit, c.user(), o.change.reason, time.Now())
	}, nil
}

// park makes the planned change of an object. It returns nil if the object stays unchanged, unless the command waits.
func (o *parkOptions) park(ctx context.Context, c *changer, t *observe.Target, plan func(*unstructured.Unstructured) (replicas.ParkPlan, error), planned replicas.ParkPlan) (*change, error) {
	if planned.Kept == "" {
		c.warnOfCompetitors(ctx, t, func(int64) (int32, error) { return planned.After, nil })
	}
	shown := ""
	var now replicas.ParkPlan
	done, err := c.edit(ctx, t, func(obj *unstructured.Unstructured) (_ edit.Plan, err error) {
		now, err = plan(obj)
		words := fmt.Sprintf("%d → %d", now.Before, now.After)
		if o.back && err == nil && now.Kept == "" && words != shown {
			shown = words // print it before the write, because anyone may have edited the saved count
			c.printErrf("%s: %s", t, c.flags.dryRun.mark(words))
			if now.By != c.user() {
				c.printErrf("%s: parked by %s, according to its annotation", t, cmp.Or(now.By, "someone"))
			}
		}
		return now.Plan, err
	})
	if err != nil {
		return nil, kube.Explain(t.Kind, now.Refusal(*t, err))
	}
	if now.Kept != "" {
		c.printErrf("%s: %s", t, now.Kept)
		if !c.waits {
			return nil, nil // no change to report
		}
	}
	until, back := observe.WithoutTerminating(observe.Ready()), "unpark"
	until.What, until.Done = "to be parked", "parked"
	if o.back {
		until, back = observe.Ready(), "park"
	}
	made := c.edited(t, done, until, fmt.Sprintf("%d → %d", now.After, now.Before), nil)
	if now.Kept != "" {
		made.unchanged = true
		return made, nil
	}
	command := commandOn(back, t)
	if t.Path != nil {
		command = command.With("--replicas-path", t.Path.String())
	}
	made.back = &command
	if by := c.user(); !o.back && by != "" {
		made.said = fmt.Sprintf("%d → %d (parked by %s)", now.Before, now.After, by)
	} else if !o.back {
		made.said = fmt.Sprintf("%d → %d", now.Before, now.After)
	}
	return made, nil
}
