package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// awaitAll waits for several targets, and shows how far they have come: in a
// format of JSON by a report to a line for every change, otherwise to a person. The
// errors of those that have failed tell what their containers wrote last, if that was
// asked for.
func (o *commonOptions) awaitAll(ctx context.Context, format string, flags waitFlags, all []observe.WaitTarget) []error {
	if len(all) == 0 {
		return nil
	}
	errs := o.awaitShown(ctx, format, flags.Limits, all)
	if flags.logs {
		addLogs(ctx, o.clients, errs)
	}
	return errs
}

// awaitShown is awaitAll without the logs.
func (o *commonOptions) awaitShown(ctx context.Context, format string, limits observe.Limits, all []observe.WaitTarget) []error {
	saveMemory()
	a := &observe.Waiter{Clients: o.clients, Limits: limits}
	if format == "json" {
		encoder := json.NewEncoder(o.streams.Out)
		var broken error
		a.Show = func(s observe.Observation) { broken = cmp.Or(broken, encoder.Encode(s.Report)) }
		return append(a.Wait(ctx, all), broken)
	}
	colored := color("auto")
	progress := terminal.NewProgress(o.streams.ErrOut, colored.style(o.streams.ErrOut), all[0].Conditions[len(all[0].Conditions)-1].Done)
	defer progress.End()
	a.Show, a.Connection = progress.Show, &follow.Connection{Changed: progress.SetLost}
	for i, reached := range all {
		if reached.Reached != nil {
			all[i].Reached = func(s observe.Observation) error {
				return progress.Print(func() error { return reached.Reached(s) })
			}
		}
	}
	return a.Wait(ctx, all)
}

// onOneLine makes a printer of JSON print an object that is waited for on one line, as the
// reports that follow it.
func onOneLine(p printers.ResourcePrinter, flags *genericclioptions.PrintFlags) printers.ResourcePrinter {
	if *flags.OutputFormat != "json" {
		return p
	}
	return printers.ResourcePrinterFunc(func(obj runtime.Object, w io.Writer) error {
		var text, line bytes.Buffer
		if err := p.PrintObj(obj, &text); err != nil {
			return err
		}
		if err := json.Compact(&line, text.Bytes()); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, line.String())
		return err
	})
}

// saveMemory has garbage collected when the heap has grown by half instead of to twice its
// size, for commands that follow objects. Following 10,000 pods then takes a fifth less memory.
// It leaves GOGC alone.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
