package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/replicafield"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// scaleOptions says what to scale, to what, and on which conditions.
type scaleOptions struct {
	changeOptions

	path *fieldpath.Path
	// group names one of several groups of pods, in the place of a path.
	group  string
	change replicas.Request
	steps  stepFlags
	// reports says that --wait was given: with -o json it prints status reports, as other
	// verbs do, while --timeout alone prints the object.
	reports bool
	yes     bool
}

func newScaleCommand(common commonOptions) *cobra.Command {
	o := &scaleOptions{changeOptions: newChangeOptions(common, "scaled"), change: replicas.Request{Current: replicas.AnyCount}}
	cmd := &cobra.Command{
		Use:   "scale (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) (--replicas=COUNT | --by=CHANGE | --remove=POD | --undo) [--reuse] [--replicas-path=path] [--resource-version=version] [--current-replicas=count] [--step=step] [--wait] [--timeout=duration]",
		Short: "Set a new number of replicas",
		Long: `Set the number of replicas of an ImoocPod (NAME) or of any resource that has a
replica count (TYPE/NAME, or other arguments of kubectl).

The replica field comes from --replicas-path, from the built-in kinds, from /scale,
or from the annotation imoocpod.dev/replicas-path of the CRD.
If none of these names it, the command changes nothing. It lists the candidates,
with the command for each.

--by changes the count by a number or by a percentage, rounded away from zero. The
command sets the result only if the count has not changed in between, and retries
otherwise. It refuses a result below zero.

--remove scales down by the pods that it names, so that the controller deletes these
and no others. If "run-controller" creates the pods of the kind, their slots are not
filled again. Scaling up fills higher slots, or with --reuse the removed ones first.
The command removes pods of a CloneSet in the same way. Of a Deployment or ReplicaSet,
it sets the deletion cost of the pods before the count; the ReplicaSet controller
deletes pods that are not ready first. It refuses other kinds.

--undo returns to the count before the last change by this command. It works for kinds
that "run-controller" reconciles. If someone else has set the count since, the command
leaves it as it is and exits with code 5.

With --current-replicas or --resource-version, the command changes the object only
if it has that count or version. It refuses to scale an object that is being deleted.
The old and the new count are printed to standard error.

With --step, the count changes in steps: so many replicas at a time, or so many percent
of the whole change. Each step begins when the pods of the last one are ready (and have
been for --settle) or, on the way down, are gone. If they cannot become ready, or not
before the --timeout for each step, the command stops there, or goes back to the count
before with --on-failure=revert. It never overwrites a count that someone else has set,
and refuses a step that would break a PodDisruptionBudget. The same command with
--replicas continues from where an earlier one was interrupted.

Several objects are listed before the change. On a terminal, the command asks before
it scales more than one object to zero.

With --wait or --timeout, the command waits until the controller has seen the change
and all pods are ready. It exits with code 3 if they cannot become ready without
help (see --fail-after), with code 4 when the timeout is over, and with code 5 if
someone else changes the replica count.`,
		Example: `  # Scale an ImoocPod to three
  kubectl imoocpod scale foo --replicas 3

  # Scale to three and wait until all are ready, for at most a minute
  kubectl imoocpod scale foo --replicas 3 --timeout 1m

  # Scale to three if the current count is two
  kubectl imoocpod scale foo --current-replicas 2 --replicas 3

  # Add two replicas, or half of the current count
  kubectl imoocpod scale foo --by +2
  kubectl imoocpod scale foo --by 50%

  # Remove one pod and no other
  kubectl imoocpod scale foo --remove foo-f4e4e66e-1

  # Scale up, and fill slots that were removed
  kubectl imoocpod scale foo --by +1 --reuse

  # Go back to the count before the last scale
  kubectl imoocpod scale foo --undo

  # Scale to forty in steps of ten; go back one step if its pods do not become ready
  kubectl imoocpod scale deployment/web --replicas 40 --step 10 --settle 5s --on-failure=revert

  # Scale any resource that has a replica count
  kubectl imoocpod scale deployment/web --replicas 3

  # Scale one of several groups
  kubectl imoocpod scale elasticsearch/es --replicas 3 --group hot

  # Scale one element of a list
  kubectl imoocpod scale elasticsearch/es --replicas 3 --replicas-path '.spec.nodeSets[?(@.name=="hot")].count'`,
	}
	o.addFlags(cmd, "Wait until the controller has seen the change and all pods are ready.")
	cmd.Flags().VarP(count{&o.change.Replicas, 0}, "replicas", "r", "The new desired number of replicas. This, --by, --remove, or --undo is required.")
	cmd.Flags().Var(parsedFlag[replicafield.CountChange]{&o.change.By, replicafield.ParseCountChange, "change"}, "by", "Change the number of replicas by +2, -1, 50% or -50%, for example.")
	cmd.Flags().StringSliceVar(&o.change.Remove, "remove", nil, "Names of pods to remove. The number of replicas goes down by as many.")
	cmd.Flags().BoolVar(&o.change.Undo, "undo", false, "Return to the number of replicas before the last change by this command.")
	cmd.Flags().BoolVar(&o.change.Reuse, "reuse", false, "Scale up into the slots of pods that --remove removed.")
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().StringVar(&o.group, "group", "", "Group of pods to scale, in a resource that has several: the key of a list element, or the name of a field.")
	cmd.Flags().Var(count{&o.change.Current, replicas.AnyCount}, "current-replicas", "Scale only if this is the current number of replicas. -1 (default) for no condition.")
	cmd.Flags().StringVar(&o.change.ResourceVersion, "resource-version", "", "Scale only if this is the current resource version.")
	o.steps.addFlags(cmd)
	cmd.Flags().BoolVar(&o.yes, "yes", false, "Do not ask before scaling several objects to zero.")
	return bind(cmd, o)
}

func (o *scaleOptions) complete(args []string) error {
	o.reports = o.after.wait
	err := o.changeOptions.complete(args)
	o.after.wait = o.after.wait || o.steps.given()
	o.change.DryRun, o.change.LookOnly = o.dryRun.server(), o.dryRun.client()
	return err
}

func (o *scaleOptions) validate() error {
	if err := o.validateSlots(); err != nil {
		return err
	}
	if err := o.validateUndo(); err != nil {
		return err
	}
	counted, removes := o.after.given("replicas"), len(o.change.Remove) > 0
	switch {
	case counted && o.change.By != nil:
		return usageErrorf("--replicas and --by cannot be used together")
	case !counted && o.change.By == nil && !removes && !o.change.Undo:
		return usageErrorf("--replicas, --by, --remove or --undo is required")
	case o.steps.given() && (removes || o.change.Reuse):
		return usageErrorf("--step cannot be used together with --remove or --reuse")
	case o.group != "" && o.path != nil:
		return usageErrorf("--group and --replicas-path cannot be used together")
	case o.change.ResourceVersion != "" && !isResourceVersion(o.change.ResourceVersion):
		return usageErrorf("--resource-version must be the metadata.resourceVersion of the object, a whole number, not %q", o.change.ResourceVersion)
	}
	if err := o.steps.validate(o.change, o.after.given); err != nil {
		return err
	}
	return o.after.validate()
}

// Run scales the objects, and waits for them if that was asked for.
func (o *scaleOptions) Run(ctx context.Context) error {
	targets, errs := o.begin(ctx)
	if len(targets) > 1 && o.change.ResourceVersion != "" {
		return outcome.Join(append(errs, usageErrorf("--resource-version can only be used for one object")))
	}
	if len(targets) > 1 && len(o.change.Remove) > 0 {
		return outcome.Join(append(errs, usageErrorf("--remove can only be used for one object")))
	}
	found, failed := each(targets, func(t observe.Target) (located, error) { return o.locate(ctx, t) })
	errs = append(errs, failed...)
	if on, err := o.confirmed(found); err != nil || !on {
		return outcome.Join(append(errs, err))
	}
	if o.steps.given() && o.dryRun == "none" {
		return outcome.Join(append(errs, o.scaleInSteps(ctx, found)...))
	}
	// All are written before any is waited for: they become ready together.
	var all []change
	for _, c := range found {
		w, err := o.scale(ctx, c)
		if err != nil {
			errs = append(errs, kube.Explain(c.target.Kind, err))
			continue
		}
		all = append(all, w)
	}
	if o.waits() {
		errs = append(errs, o.followChanges(ctx, o.format(), o.after, all)...)
	}
	return outcome.Join(errs)
}

// confirmed shows the changes of several objects before they are made, and asks whether
// to go on where several become zero.
func (o *scaleOptions) confirmed(found []located) (bool, error) {
	var changes []printer.CountChange
	for _, c := range found {
		change := printer.CountChange{Namespace: c.target.Namespace, Name: c.target.String(), Before: replicas.Before(c.target.Object, c.field.Path)}
		request, err := o.request(c)
		if err != nil {
			continue // the change itself will say so
		}
		switch {
		case change.Before != nil:
			after, err := request.From(c.target, int64(*change.Before))
			if err != nil {
				continue // likewise
			}
			change.After = &after
		case o.change.By == nil:
			change.After = &request.Replicas
		}
		changes = append(changes, change)
	}
	return confirmed(o.streams, changes, o.yes || o.dryRun != "none")
}

// format is that of the reports of a wait.
func (o *scaleOptions) format() string {
	if !o.reports {
		return ""
	}
	return *o.print.OutputFormat
}

// scale scales one object, and says so. It returns what there is to wait for.
func (o *scaleOptions) scale(ctx context.Context, c located) (change, error) {
	t, field := c.target, c.field
	request, err := o.request(c)
	if err != nil {
		return change{}, err
	}
	o.warnPaused(t, t.Object)
	if o.after.wait || !t.Kind.Shipped() {
		o.warn(ctx, t, request)
	}
	done, err := o.set(ctx, c, request)
	if err != nil {
		return change{}, err
	}
	obj, err := o.result(ctx, c, &done)
	if err != nil {
		return change{}, err
	}
	if o.steps.given() && done.Before != nil {
		if err := o.sayPlan(t, *done.Before, done.Replicas); err != nil {
			return change{}, err
		}
	}
	if err := o.printer.PrintObj(obj, o.streams.Out); err != nil {
		return change{}, err
	}
	if err := escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(done.String())); err != nil {
		return change{}, err
	}
	if !o.after.wait {
		o.loops.warn(ctx, t)
	}
	if named := field.String(); named != ".spec.replicas" && !t.Kind.Shipped() && o.path == nil {
		if err := escape.PrintLine(o.streams.ErrOut, "%s: replica field %s%s", t, named, o.beside(ctx, t, field)); err != nil {
			return change{}, err
		}
	}
	return o.changed(c, done), nil
}

// changed is a count that was set, and what to wait for.
func (o *scaleOptions) changed(c located, done replicas.Result) change {
	all := change{
		WaitTarget: observe.WaitTarget{
			Target: c.target, UID: done.UID, Since: done.ResourceVersion,
			Conditions: []observe.Condition{observe.Scaled(done.Replicas, len(done.Fields) > 0)},
		},
		written: done.Written,
	}
	if done.Before == nil || *done.Before == done.Replicas {
		return all
	}
	all.back = new(o.command(c, *done.Before))
	all.revert = func(ctx context.Context) (string, error) {
		if done.Object != nil {
			// The count that is left behind is not one to return to.
			var forget []fieldpath.Edit
			if c.target.Kind.Reconciled() {
				forget = []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationLastScale)}}
			}
			_, err := edit.Revert(ctx, c.target.Resource(o.finder.Dynamic), done.Written, forget, o.edits())
			return fmt.Sprintf("%d → %d", done.Replicas, *done.Before), err
		}
		back, err := o.set(ctx, c, replicas.Request{Replicas: *done.Before, Current: done.Replicas})
		return back.String(), err
	}
	return all
}

// set sets the count of an object. A dry run by the client sets none.
func (o *scaleOptions) set(ctx context.Context, c located, change replicas.Request) (replicas.Result, error) {
	switch {
	case len(change.Remove) > 0:
		pods, err := o.clients.Core()
		if err != nil {
			return replicas.Result{}, err
		}
		return replicas.Remove(ctx, o.finder.Dynamic, pods, c.target, c.field, change)
	case o.dryRun.client() && !change.Reuse && !change.Undo:
		return replicas.Result{}, nil
	}
	done, err := replicas.Set(ctx, c.target.Resource(o.finder.Dynamic), c.target, c.field, change)
	if unknownField(err) && c.field.Path != nil {
		schema, _ := o.finder.Schema(c.target.Kind) // without it no field is suggested
		err = noField(c.target, *c.field.Path, schema)
	}
	return done, err
}

// look reads an object before its count is set, for the count that it has and to
// refuse one that is being deleted. Users who may only set the count can do so.
func (o *scaleOptions) look(ctx context.Context, t *observe.Target, field discover.Field) error {
	if t.Object == nil && (field.Scale || o.dryRun.client() || o.change.Undo) {
		obj, err := t.Resource(o.finder.Dynamic).Get(ctx, t.Name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) && !o.change.Undo {
			return nil
		}
		if err != nil {
			return err
		}
		t.Object = obj
	}
	return replicas.Refuse(*t, t.Object)
}

// warn says what stands against the change before it is made.
func (o *scaleOptions) warn(ctx context.Context, t observe.Target, change replicas.Request) {
	o.warnOfCompetitors(ctx, t, func(now int64) (int32, error) { return change.From(t, now) })
}

// isResourceVersion reports whether a word can be one: a whole number.
func isResourceVersion(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}
