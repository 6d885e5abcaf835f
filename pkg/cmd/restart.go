package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type restartOptions struct {
	changeOptions
	reason string
	// by is the name under which the server knows who restarts.
	by string
}

func newRestartCommand(common commonOptions) *cobra.Command {
	o := &restartOptions{changeOptions: newChangeOptions(common, "restarted")}
	cmd := &cobra.Command{
		Use:   "restart (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--dry-run=server|client|none] [--wait]",
		Short: "Restart the pods of an object, a few at a time",
		Long: `Replace the pods of an ImoocPod (NAME) or another resource (TYPE/NAME, or other
arguments of kubectl), a few at a time. The command sets the annotation of "kubectl
rollout restart" in the pod template, and the controller replaces the pods.

It supports all kinds that "run-controller" reconciles, Deployments, StatefulSets,
DaemonSets, and custom resources with a pod template at .spec.template. It also
sets a restart field, such as .spec.restartAt of a Rollout; the annotation
imoocpod.dev/restart-path of a CRD names such a field. It refuses other resources.

With --wait, the command waits until all objects have new pods and are ready. It
exits with code 3 if they cannot become ready without help (see --fail-after), with
code 4 when the timeout is over, and with code 5 if someone else restarts them.`,
		Example: `  # Restart an ImoocPod
  kubectl imoocpod restart foo

  # Restart an ImoocPod and wait until the new pods are ready
  kubectl imoocpod restart foo --wait --timeout 5m

  # Restart a Deployment, and all AppServices with a label
  kubectl imoocpod restart deployment/web
  kubectl imoocpod restart appservices -l tier=front`,
	}
	o.addFlags(cmd, "Wait until the objects have new pods and are ready.")
	o.addManagerFlag(cmd)
	addReasonFlag(cmd, &o.reason)
	return bind(cmd, o)
}

func (o *restartOptions) Run(ctx context.Context) error {
	targets, errs := o.begin(ctx)
	if len(targets) > 0 {
		o.by = o.clients.User(ctx)
	}
	all, failed := each(targets, func(t observe.Target) (change, error) { return o.restart(ctx, t) })
	errs = append(errs, failed...)
	return outcome.Join(append(errs, o.follow(ctx, all)...))
}

// restart restarts one object, and says so.
func (o *restartOptions) restart(ctx context.Context, t observe.Target) (change, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return change{}, err
	}
	if t.Object.GetDeletionTimestamp() != nil {
		return change{}, fmt.Errorf("%s is being deleted and cannot be restarted", t)
	}
	path, err := o.field(ctx, t.Kind, t.Object)
	if err != nil {
		return change{}, o.refused(ctx, t, err)
	}
	now := time.Now()
	if _, err := o.plan(t.Object, path, now); err != nil {
		return change{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
	}
	o.warnPaused(t, t.Object)
	before, err := o.readBefore(ctx, t)
	if err != nil {
		return change{}, err
	}
	objects := t.Resource(o.finder.Dynamic)
	done, err := edit.Apply(ctx, objects, t.Name, t.Object, func(obj *unstructured.Unstructured) (edit.Plan, error) { return o.plan(obj, path, now) }, o.edits())
	if err != nil {
		return change{}, err
	}
	if err := o.printer.PrintObj(done.Object, o.streams.Out); err != nil {
		return change{}, err
	}
	if !o.waits() {
		o.loops.warn(ctx, t)
	}
	return change{
		WaitTarget: observe.WaitTarget{
			Target: t, UID: done.Object.GetUID(), Since: done.Object.GetResourceVersion(),
			Conditions: []observe.Condition{observe.Replaced(status.NewReport(before).Pods)},
		},
		written: done,
		revert: func(ctx context.Context) (string, error) {
			_, err := edit.Revert(ctx, objects, done, o.marks(path, "undo of the restart"), o.edits())
			return "the restart was taken back", err
		},
	}, nil
}

// plan is the change that restarts an object.
func (o *restartOptions) plan(obj *unstructured.Unstructured, path []string, now time.Time) (edit.Plan, error) {
	time, err := kinds.RestartTime(obj, path, now)
	if err != nil {
		return edit.Plan{}, err
	}
	return edit.Plan{
		Edits: []fieldpath.Edit{{Path: fieldpath.Fields(path...), Value: time}},
		Marks: o.marks(path, cmp.Or(o.reason, "restarted")),
	}, nil
}

// marks say who restarts an object and why. With the annotation of a restart, the pods are
// made from another template, which is a revision like any other; a field of another kind
// is no part of it.
func (o *restartOptions) marks(path []string, cause string) []fieldpath.Edit {
	if path[len(path)-1] != apis.AnnotationRestartedAt {
		return nil
	}
	return template.Annotations(cause, o.by)
}

// field finds the field to change. Only for kinds that say nothing of themselves
// the schema is read.
func (o *restartOptions) field(ctx context.Context, kind kinds.Kind, obj *unstructured.Unstructured) ([]string, error) {
	if kind.Reconciled() || kind.BuiltIn() {
		return kinds.RestartField(kind, obj, nil, "")
	}
	facts, err := observe.StatusFacts(ctx, o.finder, kind, nil)
	if err != nil {
		return nil, err
	}
	schema, err := o.finder.Schema(kind)
	if err != nil {
		return nil, err
	}
	return kinds.RestartField(kind, obj, schema, facts.Restart)
}

// refused is the error of an object that cannot be restarted. Of an object of another
// program, it names what that owns that can be restarted in its place. Who may not read
// that is told nothing.
func (o *restartOptions) refused(ctx context.Context, t observe.Target, why error) error {
	refused := fmt.Errorf("%s cannot be restarted: %w", t, why)
	if errors.Is(why, kinds.ErrPaused) {
		return outcome.WithHint(refused, "to resume it", resumeRollout(t))
	}
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return refused
	}
	e, _, err := observe.ReadTree(ctx, o.clients, t)
	if err != nil {
		return refused
	}
	return restartBelow(refused, e.Object.UID, e.Own())
}

// restartBelow adds to an error hints that name those of some objects that stand right
// below an owner and can be restarted. What a cluster-scoped owner has may be in several
// namespaces.
func restartBelow(err error, owner types.UID, children []status.Child) error {
	below := map[string][]string{}
	for _, child := range children {
		kind := strings.ToLower(child.Kind)
		if child.Controller == owner && child.APIVersion == "apps/v1" && slices.Contains([]string{"deployment", "statefulset", "daemonset"}, kind) && (child.Desired == nil || *child.Desired > 0) {
			below[child.Namespace] = append(below[child.Namespace], kind+".apps/"+child.Name)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(below)) {
		slices.Sort(below[namespace])
		restart := commandline.Plugin("restart").With(below[namespace]...).In(namespace)
		err = outcome.WithHint(err, "restart the objects that it owns, although its controller may undo that", restart)
	}
	return err
}
