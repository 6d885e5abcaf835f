package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

func newResumeCommand(common commonOptions) *cobra.Command {
	f := newChangeFlags(common, "resumed")
	cmd := &cobra.Command{
		Use:   "resume (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [flags]",
		Short: "End the pause of an object",
		Long: `End the pause of an ImoocPod (NAME) or another resource (TYPE/NAME). The controller
then applies the changes that were made during the pause.`,
		Example: `  # Resume an ImoocPod
  kubectl imoocpod resume foo

  # Resume the rollout of a Deployment
  kubectl imoocpod resume deployment/web`,
	}
	f.targets.without = toWrite
	f.addFlags(cmd)
	f.addManagerFlag(cmd)
	return f.command(cmd, f.complete, resume)
}

func resume(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	if !t.Kind.Reconciled() {
		path, err := findSwitch(c.finder, t)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be resumed: %w", t, err)
		}
		return setSwitch(ctx, c, t, path, false, pauseEdits("", "", ""), observe.Ready(), "pause", "--for", apis.PausedForever)
	}
	before, now := apis.ReadPause(t.Object.GetAnnotations()), time.Now()
	edits, said := pauseEdits("", "", ""), "was "+before.Text(now)
	switch {
	case before == (apis.Pause{}):
		edits, said = nil, "was not paused"
	case before.Invalid != "":
		said = "was not paused: " + before.Invalid
	case !before.Active(now):
		said = "its pause had ended at " + apis.Clock(before.Until, now)
	}
	rest := pauseLength{For: before.Left(now).Round(time.Second), Forever: before.Forever}
	made, err := editPause(ctx, c, t, edits, observe.Resumed(), "pause", "--for", rest.String())
	if err != nil {
		return nil, err
	}
	if made.said = said; !before.Active(now) {
		made.back = nil
	}
	return made, nil
}
