package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
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
		Use:   "park (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [--replicas-path=path] [--yes] [--dry-run=server|client|none] [--wait]",
		Short: "Scale to zero and remember the replica count",
		Long: `Scale an ImoocPod (NAME) or other objects (TYPE/NAME, or other arguments of kubectl)
to zero, and remember the replica count in the annotation imoocpod.dev/parked of the
object. "unpark" restores it. Until then "status" reports the object as parked.

The count and the annotation change in one write, and only if nobody has changed the
object in between. An object that is parked already stays as it is. Objects whose
count cannot be zero are refused.

With -l or --all and no type, the command parks the objects of all types in the
namespace that have a replica count. It leaves out objects that another object owns.

Several objects are listed before the change. On a terminal, the command asks before
it scales more than one object to zero.`,
		Example: `  # Park an ImoocPod and a Deployment
  kubectl imoocpod park imoocpod/foo deployment/web

  # Park all objects with a label, whatever their type
  kubectl imoocpod park -l env=dev

  # Park everything in a namespace from a script
  kubectl imoocpod park --all -n dev --yes`,
	}
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().BoolVar(&o.yes, "yes", false, "Do not ask before scaling several objects to zero.")
	return o.command(cmd)
}

func newUnparkCommand(common commonOptions) *cobra.Command {
	o := &parkOptions{change: newChangeFlags(common, "unparked"), back: true}
	return o.command(&cobra.Command{
		Use:   "unpark (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [--dry-run=server|client|none] [--wait]",
		Short: "Restore the replica count of a parked object",
		Long: `Restore the replica count that "park" has saved in the annotation imoocpod.dev/parked
of an ImoocPod (NAME) or of other objects (TYPE/NAME, or other arguments of kubectl),
and remove the annotation.

Both change in one write, and only if nobody has changed the object in between. If
someone has scaled the object since it was parked, the command leaves it as it is
and exits with code 5. Objects that are not parked stay as they are.

With -l or --all and no type, the command restores the parked objects of all types in
the namespace.`,
		Example: `  # Restore an ImoocPod
  kubectl imoocpod unpark foo

  # Restore all objects with a label, whatever their type
  kubectl imoocpod unpark -l env=dev`,
	})
}

// command adds the flags of both verbs.
func (o *parkOptions) command(cmd *cobra.Command) *cobra.Command {
	o.change.targets.without = toWrite
	waitUsage := "Wait until the objects have no pods left."
	if o.back {
		waitUsage = "Wait until the objects are ready."
	}
	o.change.addFlags(cmd, waitUsage)
	return command(cmd, o.change.targets.complete, o.change.validate, o.change.targets.explained(o.change.common.clients, o.run))
}

func (o *parkOptions) run(ctx context.Context) error {
	c, err := newChanger(ctx, &o.change, o.change.wait.waits())
	if err != nil {
		return err
	}
	targets, errs := c.find(ctx)
	if o.change.targets.untyped() {
		targets = slices.DeleteFunc(targets, o.skips)
	}
	if len(targets) == 0 && !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errNothingFound) }) {
		return o.change.targets.sayNothingFound(&o.change.common)
	}
	var counts []printer.CountChange
	all, failed := each(targets, func(t *observe.Target) (planned, error) {
		plan, err := o.plan(ctx, c, t)
		if err != nil {
			return planned{}, err
		}
		now, err := plan(t.Object)
		if err != nil {
			return planned{}, err
		}
		if now.Kept != "" {
			c.tell("%s: %s", t, now.Kept)
			return planned{}, nil
		}
		counts = append(counts, printer.CountChange{Namespace: t.Namespace, Name: t.String(), Before: &now.Before, After: &now.After})
		return planned{t, func(ctx context.Context) (*change, error) { return o.park(ctx, c, t, plan, now.After) }}, nil
	})
	errs = append(errs, failed...)
	if on, err := c.confirm(counts, o.yes); err != nil || !on {
		return outcome.Join(append(errs, err))
	}
	return c.make(ctx, all, errs)
}

// skips reports whether park or unpark leaves out an object that no one named: it has no count,
// or nothing to restore.
func (o *parkOptions) skips(t observe.Target) bool {
	if o.back {
		_, parked := t.Object.GetAnnotations()[apis.AnnotationParked]
		return !parked
	}
	return t.Kind.CRD() == kinds.DaemonSets || t.Kind.Mapping.Strategy.WithoutReplicas()
}

// plan reads an object and returns the function that plans its change.
func (o *parkOptions) plan(ctx context.Context, c *changer, t *observe.Target) (func(*unstructured.Unstructured) (replicas.ParkPlan, error), error) {
	err := t.Read(ctx, c.finder.Dynamic)
	if err != nil || o.back {
		return func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) { return replicas.Unpark(*t, obj) }, err
	}
	path, err := c.countPath(ctx, "park", t, t.Object, o.path)
	t.Path = o.path
	return func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) {
		return replicas.Park(*t, obj, *path, c.user(), time.Now())
	}, err
}

// park makes the planned change of an object. after is the new count.
func (o *parkOptions) park(ctx context.Context, c *changer, t *observe.Target, plan func(*unstructured.Unstructured) (replicas.ParkPlan, error), after int32) (*change, error) {
	c.beginWarning(t)
	c.warnOfCompetitors(ctx, t, func(int64) (int32, error) { return after, nil })
	now, done, err := replicas.Send(ctx, t.Resource(c.finder.Dynamic), *t, plan, c.edits())
	if err != nil {
		return nil, err
	}
	if now.Kept != "" { // by someone else, since the object was read
		c.tell("%s: %s", t, now.Kept)
		return nil, nil //nolint:nilnil // there is no change to report
	}
	until, back := observe.WithoutTerminating(observe.Ready()), "unpark"
	until.What, until.Done = "to be parked", "parked"
	if o.back {
		until, back = observe.Ready(), "park"
	}
	made := c.edited(t, done, until, fmt.Sprintf("%d → %d", now.After, now.Before), nil)
	made.back = new(commandOn(back, t))
	made.said = fmt.Sprintf("%d → %d", now.Before, now.After)
	if !o.back && c.user() != "" {
		made.said += " (parked by " + c.user() + ")"
	}
	return made, nil
}
