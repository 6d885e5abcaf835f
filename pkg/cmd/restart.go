package cmd

import (
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
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func newRestartCommand(common commonOptions) *cobra.Command {
	f := newChangeFlags(common, "restarted")
	cmd := &cobra.Command{
		Use:   "restart (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [flags]",
		Short: "Restart the pods of an object, a few at a time",
		Long: `Replace the pods of an ImoocPod (NAME) or another resource (TYPE/NAME), a few at a
time (with the update strategy OnDelete, only after you delete them). The command
annotates the pod template, as "kubectl rollout restart" does, or sets a restart
field, such as .spec.restartAt of a Rollout, or the field that the annotation
imoocpod.dev/restart-path of the CRD names. A kind of run-controller without a
template is annotated itself. The command refuses types with neither, and names the
Deployments, StatefulSets, and DaemonSets to restart instead. Their owner may undo
that.`,
		Example: `  # Restart an ImoocPod and wait until the new pods are ready
  kubectl imoocpod restart foo --wait --timeout 5m

  # Restart a Deployment, and all objects with a label
  kubectl imoocpod restart deployment/web
  kubectl imoocpod restart -l tier=front`,
	}
	f.targets.without = toWrite
	f.addReasonFlag(cmd)
	return f.command(cmd, f.complete, restart)
}

func restart(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	if t.Object.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("%s is being deleted and cannot be restarted", t)
	}
	path, err := restartField(ctx, c.Finder, t)
	if err != nil {
		return nil, restartRefused(ctx, c, t, c.Finder.Undeclared(t.Kind, err))
	}
	now := time.Now()
	plan := func(obj *unstructured.Unstructured) (edit.Plan, error) {
		at, err := podtemplate.RestartTime(obj, path, now)
		if err != nil {
			return edit.Plan{}, fmt.Errorf("%s cannot be restarted: %w", t, err)
		}
		return edit.Plan{
			Edits: []fieldpath.Edit{{Path: fieldpath.Fields(path...), Value: at}},
			Marks: restartMarks(c, path, strings.TrimSuffix("restarted: "+c.flags.reason, ": ")),
		}, nil
	}
	if _, err := plan(t.Object); err != nil {
		return nil, err
	}
	c.warnPaused(t)
	before, err := c.readBefore(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := c.edit(ctx, t, plan)
	if err != nil {
		return nil, err
	}
	old := slices.DeleteFunc(slices.Clone(before.Pods), func(pod problem.Pod) bool { return podtemplate.KeptBack(t.Kind, t.Object, pod.Name) })
	if kept := len(before.Pods) - len(old); kept > 0 {
		c.printErrf("%s: its partition keeps %s from being restarted", t, problem.Quantity(kept, "pod"))
	}
	made := c.edited(t, done, observe.Replaced(old), "the restart was taken back", func(context.Context) []fieldpath.Edit {
		return restartMarks(c, path, "undo of the restart")
	})
	made.template = true
	return made, nil
}

// restartField returns the path of the field that restarts an object. It reads the schema only for custom
// resources that another program reconciles.
func restartField(ctx context.Context, finder *discover.Finder, t *observe.Target) ([]string, error) {
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return podtemplate.RestartField(t.Kind, t.Object, nil, "")
	}
	facts, err := observe.StatusFacts(ctx, finder, t.Kind, nil)
	if err != nil {
		return nil, err
	}
	schema, err := finder.Schema(t.Kind)
	if err != nil {
		return nil, err
	}
	return podtemplate.RestartField(t.Kind, t.Object, schema, facts.Restart)
}

// restartMarks returns the edits that record who restarts an object and why. If path is not the restart
// annotation, it returns nil, because a change of another restart field creates no revision.
func restartMarks(c *changer, path []string, cause string) []fieldpath.Edit {
	if path[len(path)-1] != apis.AnnotationRestartedAt {
		return nil
	}
	return template.Annotations(cause, c.user())
}

// restartRefused returns the error for an object that cannot be restarted. For a custom resource that another
// program reconciles, the error suggests restarting the owned objects, if the user can read them.
func restartRefused(ctx context.Context, c *changer, t *observe.Target, why error) error {
	refused := fmt.Errorf("%s cannot be restarted: %w", t, why)
	if errors.Is(why, podtemplate.ErrPaused) {
		return outcome.WithHint(refused, "to resume it", commandOn("resume", t))
	}
	if t.Kind.Reconciled() || t.Kind.BuiltIn() {
		return refused
	}
	s, _, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Depth: observe.Below})
	if err != nil {
		return refused
	}
	return restartBelow(refused, s.Object.UID, s.Children)
}

// restartBelow adds hints to an error. For each namespace with restartable children of the owner, a hint
// contains the command that restarts them. A cluster-scoped owner may have children in several namespaces.
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
		command := commandline.Plugin("restart").WithSome(below[namespace]).In(namespace)
		err = outcome.WithHint(err, "restart the objects that it owns, although its controller may undo that", command)
	}
	return err
}
