package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// podsChange is what the verbs share whose changes replace pods: they say who makes the
// change and why, and may wait for the new pods.
type podsChange struct {
	changeOptions

	reason string
	wait   bool
	limits waitFlags

	by string
}

func (o *podsChange) addFlags(cmd *cobra.Command, waitUsage string) {
	o.changeOptions.addFlags(cmd)
	o.addManagerFlag(cmd)
	cmd.Flags().StringVar(&o.reason, "reason", "", "Why the object is changed, which \"history\" shows. The default says what changes.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, waitUsage)
	o.limits.addChangeWaitFlags(cmd)
}

func (o *podsChange) complete(args []string) error {
	o.wait = o.wait || o.limits.Timeout > 0
	return o.changeOptions.complete(args)
}

func (o *podsChange) validate() error { return o.limits.validateWait(o.wait) }

// begin is that of changeOptions, and asks who changes the objects.
func (o *podsChange) begin(ctx context.Context) ([]observe.Target, []error) {
	targets, errs := o.changeOptions.begin(ctx)
	if len(targets) > 0 {
		o.by = o.clients.User(ctx)
	}
	o.wait = o.wait && o.dryRun == "none"
	if o.wait {
		o.printer = onOneLine(o.printer, o.print)
	}
	return targets, errs
}

// readBefore reads, for a wait, what stands below a target before it is changed. Without a
// wait it begins to look for a controller.
func (o *podsChange) readBefore(ctx context.Context, t observe.Target) (before status.Snapshot, err error) {
	if !o.wait {
		o.loops.begin(ctx, t)
		return before, nil
	}
	before, _, err = observe.ReadTree(ctx, o.clients, t)
	return before, err
}
