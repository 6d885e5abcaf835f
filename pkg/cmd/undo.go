package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type undoOptions struct {
	change   changeFlags
	revision int64
}

func newUndoCommand(common commonOptions) *cobra.Command {
	o := &undoOptions{change: newChangeFlags(common, "undone")}
	cmd := &cobra.Command{
		Use:   "undo (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--to-revision=N] [flags]",
		Short: "Return to an earlier pod template",
		Long: `Give an ImoocPod (NAME) or another resource (TYPE/NAME) the pod template of an earlier
revision, which "history" lists. The replica count, the labels, and everything else
stay. With --dry-run, the command shows the difference and changes nothing.

It warns if the revision never became ready, or if a tool such as Argo CD, Flux, or
Helm manages the pod template, because its next run restores the value.`,
		Example: `  # Return to the previous pod template of a Deployment
  kubectl imoocpod undo deployment/web

  # Return to revision 1 and wait until the pods are ready
  kubectl imoocpod undo deployment/web --to-revision 1 --wait --timeout 5m`,
	}
	o.change.addReasonFlag(cmd)
	cmd.Flags().Var(numberFlag(&o.revision, 0), "to-revision", "The revision to return to. Default to 0 (the last revision with another pod template).")
	return o.change.command(cmd, o.change.complete, o.undo)
}

func (o *undoOptions) undo(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	if err := refuseUndo(t); err != nil {
		return nil, err
	}
	history, err := template.History(ctx, c.Dynamic, *t)
	if err != nil {
		return nil, err
	}
	to, err := history.Pick(o.revision)
	if err != nil {
		return nil, hintHistory(fmt.Errorf("%s cannot be undone: %w", t, err), t)
	}
	shown := ""
	want := func(obj *unstructured.Unstructured) ([]revision.Field, error) {
		now, err := revision.FieldsAt(obj.Object, history.Now)
		if err != nil {
			return nil, err
		}
		// Without --to-revision, the choice of the revision depends on the template that was read.
		if o.revision == 0 && !revision.Same(now, history.Now) {
			return nil, hintHistory(fmt.Errorf("%w: someone else changed the pod template of %s since it was read", outcome.ErrPrecondition, t), t)
		}
		if change := revision.Change(now, to.Fields); change != shown && c.flags.dryRun == "none" {
			shown = change // after a conflict, show only another change
			// Show the change before the write, because anyone who can write revisions could hide something in one.
			// The diff is necessary, because the line about a long change is shortened.
			c.printErrf("%s: %s", t, change)
			err = printer.DiffYAML(c.streams.ErrOut, t.String(), t.String()+" (to be written)",
				revision.Object(now), revision.Object(to.Fields))
		}
		return to.Fields, err
	}
	if i := history.Current(); i >= 0 && (history.Revisions[i].Number == to.Number || revision.Same(to.Fields, history.Now)) {
		c.printErrf("%s is already at revision %d: nothing to undo", t, to.Number)
		want = func(obj *unstructured.Unstructured) ([]revision.Field, error) {
			return revision.FieldsAt(obj.Object, to.Fields)
		}
	} else if why := neverReady(ctx, c, t, history, to); why != "" {
		c.printErrf("Warning: %s: revision %d never became ready%s", t, to.Number, why)
	}
	made, err := c.changeTemplate(ctx, t, want, fmt.Sprintf(" (undo to %d)", to.Number))
	if err == nil && c.flags.dryRun == "none" {
		made.said = "" // shown before the write
	}
	return made, err
}

// neverReady returns the evidence that the last rollout of a revision did not complete, or "" if there is none.
func neverReady(ctx context.Context, c *changer, t *observe.Target, history revision.History, to revision.Revision) string {
	if template.MarkedFailed(*t, to) {
		return ", and was reverted because of that"
	}
	tree, _, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Depth: observe.Below})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check whether a revision became ready", "object", t.String(), "err", err)
		return ""
	}
	strategy, _, _ := unstructured.NestedString(t.Object.Object, "spec", "updateStrategy", "type")
	if tree.Object.Pause != nil || strategy == string(appsv1.OnDeleteStatefulSetStrategyType) {
		return "" // a pause and OnDelete keep pods of older revisions
	}
	var pods []map[string]string
	for _, pod := range tree.Pods {
		if !pod.Ending && !podtemplate.KeptBack(t.Kind, t.Object, pod.Name) {
			pods = append(pods, pod.Object.Labels)
		}
	}
	if older, found := history.RolledOutBefore(to, pods); found {
		return fmt.Sprintf(": pods of revision %d are still there", older)
	}
	return ""
}

// refuseUndo returns an error if an earlier pod template would have no effect.
func refuseUndo(t *observe.Target) error {
	paused, _, err := unstructured.NestedBool(t.Object.Object, "spec", "paused")
	if err == nil && paused && t.Kind.CRD() == kinds.Deployments {
		return outcome.WithHint(fmt.Errorf("%s cannot be undone: it is paused", t), "to resume it", commandOn("resume", t))
	}
	ref, found, err := unstructured.NestedMap(t.Object.Object, "spec", "workloadRef")
	if err == nil && found && t.Kind.CRD() == "rollouts.argoproj.io" {
		return fmt.Errorf("%s cannot be undone: its pod template is that of %s", t, escape.Line(fmt.Sprintf("%v/%v", ref["kind"], ref["name"])))
	}
	return nil
}

func hintHistory(err error, t *observe.Target) error {
	return outcome.WithHint(err, "", commandOn("history", t))
}
