package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// pauseChange is what "pause" and "resume" have in common: the objects, how they are
// changed, and how that is told.
type pauseChange struct{ changeOptions }

func (o *pauseChange) addFlags(cmd *cobra.Command) {
	o.changeOptions.addFlags(cmd)
	o.addManagerFlag(cmd)
}

// each changes the objects one after the other. One bad object does not stop the others.
func (o *pauseChange) each(ctx context.Context, change func(context.Context, observe.Target) error) error {
	targets, errs := o.begin(ctx)
	_, failed := each(targets, func(t observe.Target) (struct{}, error) {
		if err := t.Read(ctx, o.finder.Dynamic); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, change(ctx, t)
	})
	return outcome.Join(append(errs, failed...))
}

// patch changes an object by a merge patch, unless another has its name by now.
func (o *pauseChange) patch(ctx context.Context, t observe.Target, patch map[string]any) (*unstructured.Unstructured, error) {
	if o.dryRun.client() {
		return patched(t.Object, patch)
	}
	if err := unstructured.SetNestedField(patch, string(t.Object.GetUID()), "metadata", "uid"); err != nil { // a precondition
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return o.mergePatch(ctx, t, patch)
}

// patched is an object as a server makes it of a merge patch.
func patched(obj *unstructured.Unstructured, patch map[string]any) (*unstructured.Unstructured, error) {
	before, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	merged, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return nil, fmt.Errorf("apply the patch: %w", err)
	}
	after := &unstructured.Unstructured{}
	return after, after.UnmarshalJSON(merged)
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
func (o *pauseChange) set(ctx context.Context, t observe.Target, path []string, on bool) error {
	field := "." + strings.Join(path, ".")
	if now, _ := fieldpath.Object(t.Object.Object, path[:len(path)-1]...)[path[len(path)-1]].(bool); now == on {
		return o.tellUnchanged(t, fmt.Sprintf("%s is already %t", field, on))
	}
	if err := escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(fmt.Sprintf("setting %s to %t", field, on))); err != nil {
		return err
	}
	patch := map[string]any{}
	if err := unstructured.SetNestedField(patch, on, path...); err != nil {
		return fmt.Errorf("make the patch: %w", err)
	}
	obj, err := o.patch(ctx, t, patch)
	if err != nil {
		return err
	}
	return o.printer.PrintObj(obj, o.streams.Out)
}

// tellUnchanged is tell for an object that was not changed.
func (o *pauseChange) tellUnchanged(t observe.Target, words string) error {
	if *o.print.OutputFormat != "" {
		return o.tell(o.printer, t, t.Object, words)
	}
	printer, err := linePrinter(genericclioptions.NewPrintFlags(o.dryRun.mark("unchanged")))
	if err != nil {
		return err
	}
	return o.tell(printer, t, t.Object, words)
}

// tell prints an object, and says for a person what there is to say of it.
func (o *pauseChange) tell(printer printers.ResourcePrinter, t observe.Target, obj *unstructured.Unstructured, words string) error {
	if err := printer.PrintObj(obj, o.streams.Out); err != nil {
		return err
	}
	return escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(words))
}
