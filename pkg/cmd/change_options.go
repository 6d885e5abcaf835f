package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// changeOptions is what the verbs share that change objects: which objects, how they tell
// what has changed, and what they ask the server with.
type changeOptions struct {
	targetFlags
	commonOptions
	print  *genericclioptions.PrintFlags
	dryRun dryRun
	after  changeWaitFlags
	// fieldManager is a flag of the verbs that add it.
	fieldManager string

	// connect makes what is below.
	printer printers.ResourcePrinter
	finder  *discover.Finder
	loops   *loopWarner
}

// newChangeOptions returns the options of a verb. What it has done is the word behind the
// name of an object.
func newChangeOptions(common commonOptions, done string) changeOptions {
	return changeOptions{commonOptions: common, print: genericclioptions.NewPrintFlags(done), fieldManager: kinds.FieldManager}
}

// addFlags adds the flags. waitUsage is the help of --wait.
func (o *changeOptions) addFlags(cmd *cobra.Command, waitUsage string) {
	addPrintFlags(cmd, o.print)
	o.dryRun.addFlag(cmd)
	o.targetFlags.addFlags(cmd)
	o.after.addFlags(cmd, waitUsage)
}

func (o *changeOptions) complete(args []string) error {
	o.dryRun.complete(o.print)
	o.after.complete()
	return o.targetFlags.complete(args)
}

func (o *changeOptions) validate() error { return o.after.validateTimeout() }

func (o *changeOptions) connect() (err error) {
	if o.printer, err = linePrinter(o.print); err != nil {
		return err
	}
	if o.finder, err = o.clients.Finder(); err != nil {
		return err
	}
	if o.dryRun == "none" {
		o.loops = &loopWarner{client: o.finder.Dynamic, out: o.streams.ErrOut, line: o.line}
	}
	if o.waits() {
		o.printer = onOneLine(o.printer, o.print)
	}
	return nil
}

// waits reports whether the changes are waited for.
func (o *changeOptions) waits() bool { return o.after.wait && o.dryRun == "none" }

// edits are the options of a write.
func (o *changeOptions) edits() edit.Options {
	return edit.Options{FieldManager: o.fieldManager, DryRun: o.dryRun.server(), Local: o.dryRun.client()}
}

// follow waits for the changes, if that was asked for.
func (o *changeOptions) follow(ctx context.Context, all []change) []error {
	if !o.waits() {
		return nil
	}
	return o.followChanges(ctx, *o.print.OutputFormat, o.after, all)
}

// readBefore reads, for a wait, what stands below a target before it is changed. Without a
// wait it begins to look for a controller.
func (o *changeOptions) readBefore(ctx context.Context, t observe.Target) (before status.Snapshot, err error) {
	if !o.waits() {
		o.loops.begin(ctx, t)
		return before, nil
	}
	before, _, err = observe.ReadTree(ctx, o.clients, t)
	return before, err
}

// begin makes what a change needs, and finds the objects to change. Some may be found
// although others are not: the errors are of those. To find nothing is an error.
func (o *changeOptions) begin(ctx context.Context) ([]observe.Target, []error) {
	if err := o.connect(); err != nil {
		return nil, []error{err}
	}
	targets, errs := o.find(ctx, o.clients)
	if len(targets)+len(errs) == 0 {
		errs = []error{errNothingFound}
	}
	return targets, errs
}

// each does something with one target after the other. One that fails does not stop the
// others. It returns what came of those that did not fail.
func each[T any](targets []observe.Target, do func(observe.Target) (T, error)) (done []T, errs []error) {
	for _, t := range targets {
		result, err := do(t)
		if err != nil {
			errs = append(errs, kube.Explain(t.Kind, err))
			continue
		}
		done = append(done, result)
	}
	return done, errs
}

func (o *changeOptions) addManagerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.fieldManager, "field-manager", o.fieldManager, "Name of the manager used to track field ownership.")
}
