package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
)

type resumeOptions struct{ pauseChange }

func newResumeCommand(common commonOptions) *cobra.Command {
	o := &resumeOptions{pauseChange{changeOptions: newChangeOptions(common, "resumed")}}
	cmd := &cobra.Command{
		Use:   "resume (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--dry-run=server|client|none]",
		Short: "End the pause of an object",
		Long: `End the pause of an ImoocPod (NAME) or another resource (TYPE/NAME, or other arguments
of kubectl). The controller then applies the changes that were made during the pause.

For objects of other controllers, the command sets the field to false that "pause"
sets to true.`,
		Example: `  # Resume an ImoocPod
  kubectl imoocpod resume foo

  # Resume all ImoocPods in the namespace
  kubectl imoocpod resume imoocpods --all

  # Resume the rollout of a Deployment
  kubectl imoocpod resume deployment/web`,
	}
	o.addFlags(cmd)
	return bind(cmd, o)
}

func (o *resumeOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(ctx context.Context, t observe.Target) error {
		if t.Kind.Reconciled() {
			return o.resume(ctx, t)
		}
		path, err := o.findSwitch(t)
		if err != nil {
			return fmt.Errorf("%s cannot be resumed: %w", t, err)
		}
		return o.set(ctx, t, path, false)
	})
}

// resume ends the pause of an object that the controller of this program reconciles.
func (o *resumeOptions) resume(ctx context.Context, t observe.Target) error {
	before, now := apis.ReadPause(t.Object.GetAnnotations()), time.Now()
	if before == (apis.Pause{}) {
		return o.tellUnchanged(t, "was not paused")
	}
	o.loops.begin(ctx, t)
	obj, err := o.patch(ctx, t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		apis.AnnotationPausedUntil: nil, apis.AnnotationPausedBy: nil, apis.AnnotationPausedReason: nil,
	}}})
	if err != nil {
		return err
	}
	was := "was " + before.Text(now)
	switch {
	case before.Invalid != "":
		was = "was not paused: " + before.Invalid
	case !before.Active(now):
		was = "its pause had ended at " + apis.Clock(before.Until, now)
	}
	if err := o.tell(o.printer, t, obj, was); err != nil {
		return err
	}
	o.loops.warn(ctx, t)
	return nil
}
