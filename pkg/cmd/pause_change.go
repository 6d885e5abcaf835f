package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// pauseChange is what "pause" and "resume" have in common: the objects, how they are
// changed, and how that is told.
type pauseChange struct{ changeOptions }

func (o *pauseChange) addFlags(cmd *cobra.Command, waitUsage string) {
	o.changeOptions.addFlags(cmd, waitUsage)
	o.addManagerFlag(cmd)
}

// each changes the objects one after the other, and waits for all of them if that was
// asked for. One bad object does not stop the others.
func (o *pauseChange) each(ctx context.Context, pause func(context.Context, observe.Target) (*change, error)) error {
	targets, errs := o.begin(ctx)
	changed, failed := each(targets, func(t observe.Target) (*change, error) {
		if err := t.Read(ctx, o.finder.Dynamic); err != nil {
			return nil, err
		}
		return pause(ctx, t)
	})
	errs = append(errs, failed...)
	var all []change
	for _, c := range changed {
		all = append(all, *c)
	}
	return outcome.Join(append(errs, o.follow(ctx, all)...))
}

// write makes edits in an object, unless another has its name by now. back is the command
// that takes them back, and until is what is waited for.
func (o *pauseChange) write(ctx context.Context, t observe.Target, edits []fieldpath.Edit, until observe.Condition, back string) (*change, error) {
	if !o.waits() {
		o.loops.begin(ctx, t)
	}
	objects := t.Resource(o.finder.Dynamic)
	done, err := edit.Apply(ctx, objects, t.Name, t.Object, func(obj *unstructured.Unstructured) (edit.Plan, error) {
		if obj.GetUID() != t.Object.GetUID() {
			return edit.Plan{}, fmt.Errorf("%w: another object has the name of %s now", outcome.ErrPrecondition, t)
		}
		return edit.Plan{Edits: edits}, nil
	}, o.edits())
	if err != nil {
		return nil, err
	}
	return o.changed(t, done, until, back), nil
}

// changed is the change of an object that was written or is as it should be.
func (o *pauseChange) changed(t observe.Target, done edit.Written, until observe.Condition, back string) *change {
	return &change{
		WaitTarget: observe.WaitTarget{Target: t, UID: done.Object.GetUID(), Since: done.Object.GetResourceVersion(), Conditions: []observe.Condition{until}},
		written:    done,
		revert: func(ctx context.Context) (string, error) {
			_, err := edit.Revert(ctx, t.Resource(o.finder.Dynamic), done, nil, o.edits())
			return "it is as it was", err
		},
		back: new(commandline.Plugin(back, argumentOf(t)).In(t.Namespace)),
	}
}

// findSwitch finds the field that pauses an object of another program.
func (o *pauseChange) findSwitch(t observe.Target) ([]string, error) {
	if t.Kind.BuiltIn() {
		return kinds.PauseSwitch(t.Kind, nil)
	}
	schema, err := o.finder.Schema(t.Kind)
	if err != nil {
		return nil, err
	}
	return kinds.PauseSwitch(t.Kind, schema)
}

// set sets the switch of an object, and says so before.
func (o *pauseChange) set(ctx context.Context, t observe.Target, path []string, on bool, until observe.Condition, back string) (*change, error) {
	field := "." + strings.Join(path, ".")
	if now, _ := fieldpath.Object(t.Object.Object, path[:len(path)-1]...)[path[len(path)-1]].(bool); now == on {
		return o.changed(t, edit.Written{Object: t.Object}, until, back), o.tellUnchanged(t, fmt.Sprintf("%s is already %t", field, on))
	}
	if err := escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(fmt.Sprintf("setting %s to %t", field, on))); err != nil {
		return nil, err
	}
	c, err := o.write(ctx, t, []fieldpath.Edit{{Path: fieldpath.Fields(path...), Value: on}}, until, back)
	if err != nil {
		return nil, err
	}
	return c, o.printer.PrintObj(c.written.Object, o.streams.Out)
}

// tellUnchanged is tellOf for an object that was not changed.
func (o *pauseChange) tellUnchanged(t observe.Target, words string) error {
	if *o.print.OutputFormat != "" {
		return o.tellOf(o.printer, t, t.Object, words)
	}
	printer, err := linePrinter(genericclioptions.NewPrintFlags(o.dryRun.mark("unchanged")))
	if err != nil {
		return err
	}
	return o.tellOf(printer, t, t.Object, words)
}

// tellOf prints an object, and says for a person what there is to say of it.
func (o *pauseChange) tellOf(printer printers.ResourcePrinter, t observe.Target, obj *unstructured.Unstructured, words string) error {
	if err := printer.PrintObj(obj, o.streams.Out); err != nil {
		return err
	}
	return escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(words))
}
