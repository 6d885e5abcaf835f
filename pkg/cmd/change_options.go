package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
)

// changeOptions is what the verbs share that change objects: which objects, how they tell
// what has changed, and what they ask the server with.
type changeOptions struct {
	targetFlags
	commonOptions
	print  *genericclioptions.PrintFlags
	dryRun dryRun
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
	return changeOptions{commonOptions: common, print: genericclioptions.NewPrintFlags(done)}
}

func (o *changeOptions) addFlags(cmd *cobra.Command) {
	addPrintFlags(cmd, o.print)
	o.dryRun.addFlag(cmd)
	o.targetFlags.addFlags(cmd)
}

func (o *changeOptions) complete(args []string) error {
	o.dryRun.complete(o.print)
	return o.targetFlags.complete(args)
}

func (o *changeOptions) connect() (err error) {
	if o.printer, err = linePrinter(o.print); err != nil {
		return err
	}
	if o.finder, err = o.clients.Finder(); err != nil {
		return err
	}
	if o.dryRun == "none" {
		o.loops = &loopWarner{client: o.finder.Dynamic, out: o.streams.ErrOut}
	}
	return nil
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

func (o *changeOptions) mergePatch(ctx context.Context, t observe.Target, patch map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return t.Resource(o.finder.Dynamic).Patch(ctx, t.Name, types.MergePatchType, data, metav1.PatchOptions{
		FieldManager: o.fieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
	})
}

// each does something with one target after the other. One that fails does not stop the
// others. It returns what came of those that did not fail.
func each[T any](targets []observe.Target, do func(observe.Target) (T, error)) (done []T, errs []error) {
	for _, t := range targets {
		result, err := do(t)
		if err != nil {
			errs = append(errs, clients.Explain(t.Kind, err))
			continue
		}
		done = append(done, result)
	}
	return done, errs
}

func (o *changeOptions) addManagerFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.fieldManager, "field-manager", kinds.FieldManager, "Name of the manager used to track field ownership.")
}
