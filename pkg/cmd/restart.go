package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/rollout"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

type restartOptions struct{ podsChange }

func newRestartCommand(common commonOptions) *cobra.Command {
	o := &restartOptions{podsChange{changeOptions: newChangeOptions(common, "restarted")}}
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
exits with code 3 if they cannot become ready without help (see --fail-after) and
with code 4 when the timeout is over.`,
		Example: `  # Restart an ImoocPod
  kubectl imoocpod restart foo

  # Restart an ImoocPod and wait until the new pods are ready
  kubectl imoocpod restart foo --wait --timeout 5m

  # Restart a Deployment, and all AppServices with a label
  kubectl imoocpod restart deployment/web
  kubectl imoocpod restart appservices -l tier=front`,
	}
	o.addFlags(cmd, "Wait until the objects have new pods and are ready.")
	return bind(cmd, o)
}

func (o *restartOptions) Run(ctx context.Context) error {
	targets, errs := o.begin(ctx)
	all, failed := each(targets, func(t observe.Target) (observe.WaitTarget, error) { return o.restart(ctx, t) })
	errs = append(errs, failed...)
	if o.wait {
		errs = append(errs, o.awaitAll(ctx, *o.print.OutputFormat, o.limits, all)...)
	}
	return outcome.Join(errs)
}

// restart restarts one object, and says so. It returns what there is to wait for.
func (o *restartOptions) restart(ctx context.Context, t observe.Target) (observe.WaitTarget, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return observe.WaitTarget{}, err
	}
	obj := t.Object
	if obj.GetDeletionTimestamp() != nil {
		return observe.WaitTarget{}, fmt.Errorf("%s is being deleted and cannot be restarted", t)
	}
	path, err := o.field(ctx, t.Kind, obj)
	if err != nil {
		return observe.WaitTarget{}, fmt.Errorf("%s cannot be restarted: %w%s", t, err, o.below(ctx, t))
	}
	patch, err := kinds.Restart(obj, path, time.Now())
	if err != nil {
		return observe.WaitTarget{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
	}
	warnPaused(o.streams.ErrOut, t, t.Object)
	if err := o.sayWhy(obj, path, patch); err != nil {
		return observe.WaitTarget{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
	}
	before, err := o.readBefore(ctx, t)
	if err != nil {
		return observe.WaitTarget{}, err
	}
	if !o.dryRun.client() {
		if obj, err = o.mergePatch(ctx, t, patch); err != nil {
			return observe.WaitTarget{}, err
		}
	}
	if err := o.printer.PrintObj(obj, o.streams.Out); err != nil {
		return observe.WaitTarget{}, err
	}
	if !o.wait {
		o.loops.warn(ctx, t)
		return observe.WaitTarget{}, nil
	}
	return observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Replaced(status.NewReport(before).Pods)}, UID: obj.GetUID(), Since: obj.GetResourceVersion()}, nil
}

// sayWhy adds to a patch, and to the object that was read, who restarts it and why. With
// the annotation of a restart the pods are made from another template, which is a
// revision like any other; a field of another kind is no part of it.
func (o *restartOptions) sayWhy(obj *unstructured.Unstructured, path []string, patch map[string]any) error {
	if path[len(path)-1] != apis.AnnotationRestartedAt {
		return nil
	}
	for _, edit := range rollout.Annotations(cmp.Or(o.reason, "restarted"), o.by) {
		for _, in := range []map[string]any{obj.Object, patch} {
			if err := edit.Path.Set(in, edit.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// field finds the field to change. Only for kinds that say nothing of themselves
// the schema is read.
func (o *restartOptions) field(ctx context.Context, kind kinds.Kind, obj *unstructured.Unstructured) ([]string, error) {
	if kind.Reconciled() || kind.BuiltIn() {
		return kinds.RestartField(kind, obj, nil, "")
	}
	facts, err := o.finder.StatusFacts(ctx, kind, nil)
	if err != nil {
		return nil, err
	}
	schema, err := o.finder.Schema(kind)
	if err != nil {
		return nil, err
	}
	return kinds.RestartField(kind, obj, schema, facts.Restart)
}

// below names what an object of another program owns that can be restarted
// in its place. Who may not read that is told nothing.
func (o *restartOptions) below(ctx context.Context, t observe.Target) string {
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return ""
	}
	e, _, err := observe.ReadTree(ctx, o.clients, t)
	if err != nil {
		return ""
	}
	return restartBelow(e.Object.UID, e.Own())
}

// restartBelow is the hint that names those of some objects that stand right below an
// owner and can be restarted. What a cluster-scoped owner has may be in several
// namespaces.
func restartBelow(owner types.UID, children []status.Child) string {
	below := map[string][]string{}
	for _, child := range children {
		kind := strings.ToLower(child.Kind)
		if child.Controller == owner && child.APIVersion == "apps/v1" && slices.Contains([]string{"deployment", "statefulset", "daemonset"}, kind) && (child.Desired == nil || *child.Desired > 0) {
			below[child.Namespace] = append(below[child.Namespace], kind+".apps/"+child.Name)
		}
	}
	var hint strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(below)) {
		slices.Sort(below[namespace])
		fmt.Fprintf(&hint, "\nhint: restart the objects that it owns, although its controller may undo that: kubectl imoocpod restart %s -n %s", strings.Join(below[namespace], " "), namespace)
	}
	return hint.String()
}
