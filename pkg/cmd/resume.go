package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

type resumeOptions struct{ pauseChange }

func newResumeCommand(common commonOptions) *cobra.Command {
	o := &resumeOptions{pauseChange{changeOptions: newChangeOptions(common, "resumed")}}
	cmd := &cobra.Command{
		Use:   "resume (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--dry-run=server|client|none] [--wait]",
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
	o.addFlags(cmd, "Wait until the objects are ready.")
	return bind(cmd, o)
}

func (o *resumeOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(ctx context.Context, t observe.Target) (*change, error) {
		if t.Kind.Reconciled() {
			return o.resume(ctx, t)
		}
		path, err := o.findSwitch(t)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be resumed: %w", t, err)
		}
		return o.set(ctx, t, path, false, observe.Ready(), "pause")
	})
}

// resume ends the pause of an object that the controller of this program reconciles.
func (o *resumeOptions) resume(ctx context.Context, t observe.Target) (*change, error) {
	before, now := apis.ReadPause(t.Object.GetAnnotations()), time.Now()
	if before == (apis.Pause{}) {
		return o.changed(t, edit.Written{Object: t.Object}, observe.Ready(), "pause"), o.tellUnchanged(t, "was not paused")
	}
	c, err := o.write(ctx, t, pauseEdits("", "", ""), observe.Ready(), "pause")
	if err != nil {
		return nil, err
	}
	was := "was " + before.Text(now)
	switch {
	case before.Invalid != "":
		was = "was not paused: " + before.Invalid
	case !before.Active(now):
		was = "its pause had ended at " + apis.Clock(before.Until, now)
	}
	if err := o.tellOf(o.printer, t, c.written.Object, was); err != nil {
		return nil, err
	}
	if !o.waits() {
		o.loops.warn(ctx, t)
	}
	return c, nil
}
