package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type parkOptions struct {
	changeOptions

	// back says that the objects get their counts back.
	back     bool
	path     *fieldpath.Path
	allKinds bool
	yes      bool

	// user is the name under which the server knows who parks.
	user string
}

// parking is an object with what is planned for it.
type parking struct {
	target observe.Target
	plan   func(*unstructured.Unstructured) (replicas.ParkPlan, error)
	now    replicas.ParkPlan
}

func newParkCommand(common commonOptions) *cobra.Command {
	o := &parkOptions{changeOptions: newChangeOptions(common, "parked")}
	cmd := &cobra.Command{
		Use:   "park (NAME | TYPE/NAME ... | TYPE NAME ... | TYPE -l label | -f FILENAME | --all-kinds) [--replicas-path=path] [--yes] [--dry-run=server|client|none] [--wait]",
		Short: "Scale to zero and remember the replica count",
		Long: `Scale an ImoocPod (NAME) or other objects (TYPE/NAME, or other arguments of kubectl)
to zero, and remember the replica count in the annotation imoocpod.dev/parked of the
object. "unpark" restores it. Until then "status" reports the object as parked.

The count and the annotation change in one write, and only if nobody has changed the
object in between. An object that is parked already stays as it is. Objects whose
count cannot be zero are refused.

With --all-kinds, or with -l and no type, the command parks the objects of all types
in the namespace whose replica field is known (see "kinds"). It leaves out objects
that another object owns, such as the ReplicaSets of Deployments.

Several objects are listed before the change. On a terminal, the command asks before
it scales more than one object to zero.`,
		Example: `  # Park an ImoocPod and a Deployment
  kubectl imoocpod park imoocpod/foo deployment/web

  # Park all objects with a label, whatever their type
  kubectl imoocpod park -l env=dev

  # Park everything in a namespace from a script
  kubectl imoocpod park --all-kinds -n dev --yes`,
	}
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().BoolVar(&o.yes, "yes", false, "Do not ask before scaling several objects to zero.")
	return o.bind(cmd)
}

// bind adds the flags of both verbs.
func (o *parkOptions) bind(cmd *cobra.Command) *cobra.Command {
	waitUsage := "Wait until the objects have no pods left."
	if o.back {
		waitUsage = "Wait until the objects are ready."
	}
	o.addFlags(cmd, waitUsage)
	cmd.Flags().BoolVar(&o.allKinds, "all-kinds", false, "Select the objects of all types in the namespace that have a known replica field.")
	return bind(cmd, o)
}

func (o *parkOptions) complete(args []string) error {
	if o.allKinds && (len(args) > 0 || o.fromFiles() || o.all) {
		return usageErrorf("--all-kinds cannot be used together with arguments, -f, -k, or --all")
	}
	o.allKinds = o.allKinds || len(args) == 0 && o.selector != "" && !o.fromFiles()
	if o.allKinds {
		o.dryRun.complete(o.print)
		o.after.complete()
		return nil
	}
	return o.changeOptions.complete(args)
}

func (o *parkOptions) Run(ctx context.Context) error {
	if err := o.connect(); err != nil {
		return err
	}
	targets, errs := o.targets(ctx)
	if len(targets)+len(errs) == 0 {
		return o.sayNothingFound(&o.commonOptions)
	}
	if !o.back {
		o.user = o.clients.User(ctx)
	}
	planned, more := o.planAll(ctx, targets)
	errs = append(errs, more...)
	var changes []printer.CountChange
	for _, p := range planned {
		changes = append(changes, printer.CountChange{Namespace: p.target.Namespace, Name: p.target.String(), Before: &p.now.Before, After: &p.now.After})
	}
	if on, err := confirmed(o.streams, changes, o.yes || o.dryRun != "none"); err != nil || !on {
		return outcome.Join(append(errs, err))
	}
	// One bad object does not stop the others, and all are written before any is waited for.
	var all []change
	for _, p := range planned {
		c, err := o.change(ctx, p)
		switch {
		case err != nil:
			errs = append(errs, kube.Explain(p.target.Kind, err))
		case c != nil:
			all = append(all, *c)
		}
	}
	return outcome.Join(append(errs, o.follow(ctx, all)...))
}

func (o *parkOptions) targets(ctx context.Context) ([]observe.Target, []error) {
	if !o.allKinds {
		return o.find(ctx, o.clients)
	}
	namespace, _, err := o.clients.Namespace()
	if err != nil {
		return nil, []error{err}
	}
	all, err := o.finder.Kinds()
	if err != nil && len(all) == 0 {
		return nil, []error{err}
	}
	all = slices.DeleteFunc(all, func(k kinds.Kind) bool { return k.Clusterwide })
	found, errs := make([][]observe.Target, len(all)), make([]error, len(all))
	workqueue.ParallelizeUntil(ctx, surveyors, len(all), func(i int) { found[i], errs[i] = o.ofKind(ctx, all[i], namespace) })
	if ctx.Err() != nil {
		return nil, []error{context.Cause(ctx)}
	}
	var unlisted []string
	for i, kind := range all {
		if apierrors.IsForbidden(errs[i]) {
			unlisted, errs[i] = append(unlisted, kind.CRD()), nil
		}
	}
	if len(unlisted) > 0 {
		err = errors.Join(err, escape.PrintLine(o.streams.ErrOut, "Warning: left out, because you have no permission to list them: %s", strings.Join(unlisted, ", ")))
	}
	return slices.Concat(found...), slices.DeleteFunc(append(errs, err), func(err error) bool { return err == nil })
}

// ofKind are the objects of a kind in a namespace that --all-kinds means: those that no
// other object owns and, to be parked, that have a known replica field.
func (o *parkOptions) ofKind(ctx context.Context, kind kinds.Kind, namespace string) ([]observe.Target, error) {
	list, err := kube.List(ctx, o.finder.Dynamic.Resource(kind.Resource).Namespace(namespace), metav1.ListOptions{LabelSelector: o.selector})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []observe.Target
	for i := range list {
		_, parked := list[i].GetAnnotations()[apis.AnnotationParked]
		if metav1.GetControllerOfNoCopy(&list[i]) == nil && (parked || !o.back) {
			found = append(found, observe.Target{Kind: kind, Namespace: namespace, Name: list[i].GetName(), Object: &list[i]})
		}
	}
	if len(found) == 0 || o.back {
		return found, nil
	}
	kind, _ = o.finder.Declare(ctx, kind) // "kinds" tells what is wrong with a declaration
	if finding := o.finder.Discover(ctx, kind); finding.Field == nil {
		return nil, finding.Err
	}
	for i := range found {
		found[i].Kind = kind
	}
	return found, nil
}

// planAll plans what is to be done to each object, and says which stay as they are.
func (o *parkOptions) planAll(ctx context.Context, targets []observe.Target) ([]parking, []error) {
	var planned []parking
	var errs []error
	for _, t := range targets {
		p, err := o.planOne(ctx, t)
		switch {
		case err != nil:
			errs = append(errs, kube.Explain(t.Kind, err))
		case p.now.Kept != "":
			errs = append(errs, escape.PrintLine(o.streams.ErrOut, "%s: %s", t, p.now.Kept))
		default:
			planned = append(planned, p)
		}
	}
	return planned, errs
}

// planOne reads an object, unless that was done, and plans what is to be done to it.
func (o *parkOptions) planOne(ctx context.Context, t observe.Target) (parking, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return parking{}, err
	}
	p := parking{target: t, plan: func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) { return replicas.Unpark(t, obj) }}
	if !o.back {
		field, err := o.finder.Find(ctx, t.Kind, t.Object, o.path)
		var unknown *discover.UnknownFieldError
		switch {
		case errors.As(err, &unknown):
			return p, &chooseFieldError{verb: "park", target: t, commands: o.clients.CommandContext(), Err: unknown}
		case err != nil:
			return p, err
		case field.Path == nil:
			return p, unreadField(t.Kind)
		}
		p.target.Path = o.path
		p.plan = func(obj *unstructured.Unstructured) (replicas.ParkPlan, error) {
			return replicas.Park(t, obj, *field.Path, o.user, time.Now())
		}
	}
	var err error
	p.now, err = p.plan(t.Object)
	return p, err
}

// change makes the planned change of an object, and says so. Without a change it returns
// nil.
func (o *parkOptions) change(ctx context.Context, p parking) (*change, error) {
	t := p.target
	if !o.waits() {
		o.loops.begin(ctx, t)
	}
	o.warnOfCompetitors(ctx, t, func(int64) (int32, error) { return p.now.After, nil })
	objects := t.Resource(o.finder.Dynamic)
	plan, done, err := replicas.Send(ctx, objects, t, p.plan, o.edits())
	if err != nil {
		return nil, err
	}
	if plan.Kept != "" { // by somebody else, since the object was read
		return nil, escape.PrintLine(o.streams.ErrOut, "%s: %s", t, plan.Kept)
	}
	if err := o.printer.PrintObj(done.Object, o.streams.Out); err != nil {
		return nil, err
	}
	said := fmt.Sprintf("%d → %d", plan.Before, plan.After)
	if !o.back && o.user != "" {
		said += " (parked by " + o.user + ")"
	}
	if err := escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(said)); err != nil {
		return nil, err
	}
	if !o.waits() {
		o.loops.warn(ctx, t)
	}
	until, back := observe.WithoutTerminating(observe.Ready()), "unpark"
	until.What, until.Done = "to be parked", "parked"
	if o.back {
		until, back = observe.Ready(), "park"
	}
	return &change{
		WaitTarget: observe.WaitTarget{Target: t, UID: done.Object.GetUID(), Since: done.Object.GetResourceVersion(), Conditions: []observe.Condition{until}},
		written:    done,
		revert: func(ctx context.Context) (string, error) {
			_, err := edit.Revert(ctx, objects, done, nil, o.edits())
			return fmt.Sprintf("%d → %d", plan.After, plan.Before), err
		},
		back: new(commandline.Plugin(back, argumentOf(t)).In(t.Namespace)),
	}, nil
}
