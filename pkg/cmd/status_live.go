package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// terminal is the one to draw a screen on, nil if there is none or an output format
// was asked for.
func (o *statusOptions) terminal() *os.File {
	screen, is := terminal.Of(o.streams.Out)
	if !is || *o.print.OutputFormat != "" {
		return nil
	}
	return screen
}

// printScreen prints all there is to show, once.
func (o *statusOptions) printScreen(reports []status.Report, width int) error {
	screen := printer.Screen{Reports: reports, AllPods: o.pods}
	for _, text := range screen.Frame(width, 0, o.color.style(o.streams.Out), time.Now()) {
		if _, err := fmt.Fprintln(o.streams.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// runLive shows the objects on a terminal until Ctrl-C, or until those that were
// named are gone. Of a selection, what comes to be selected is shown, too.
func (o *statusOptions) runLive(ctx context.Context, screen *os.File) error {
	if !o.named() || len(o.args) > 0 && o.given() {
		l := o.newLive(ctx, screen)
		defer l.End()
		return o.runWatch(ctx, &follow.Connection{Changed: l.SetLost}, func(_ io.Writer, reports []status.Report) error {
			for _, r := range reports {
				if r.Verdict == status.Deleted || o.paused && !isPaused(r) {
					l.Forget(r)
				} else {
					l.Show(r)
				}
			}
			return nil
		})
	}
	o.limits.Limits = observe.Limits{}
	return o.await(ctx, screen, observe.Watched)
}

// newLive makes the screen that is asked for. It must be ended.
func (o *statusOptions) newLive(ctx context.Context, screen *os.File) *terminal.Screen {
	return terminal.NewScreen(ctx, screen, o.color.style(screen), printer.Screen{AllPods: o.pods, NotReady: o.notReady})
}

// await waits for a condition of each object, and shows them on a terminal or, if
// that is nil, by a line for every change.
func (o *statusOptions) await(ctx context.Context, screen *os.File, wanted func() observe.Condition) error {
	targets, errs := o.find(ctx)
	if len(targets)+len(errs) == 0 {
		return o.sayNone()
	}
	var all []observe.WaitTarget
	for _, t := range targets {
		w := observe.WaitTarget{Target: t, Conditions: []observe.Condition{wanted()}}
		if screen == nil && *o.print.OutputFormat == "" {
			w.Reached = func(s observe.Observation) error {
				return escape.PrintLine(o.streams.Out, "%s: %s: %s", s.Target, s.Report.Verdict, s.Report.Reason)
			}
		}
		all = append(all, w)
	}
	if screen == nil {
		return outcome.Join(append(errs, o.awaitAll(ctx, *o.print.OutputFormat, o.limits, all)...))
	}
	l := o.newLive(ctx, screen)
	defer l.End()
	a := &observe.Waiter{Clients: o.clients, Limits: o.limits.Limits, Closely: true, Show: func(s observe.Observation) { l.Show(s.Report) }, Connection: &follow.Connection{Changed: l.SetLost}}
	failed := a.Wait(ctx, all)
	if o.limits.logs {
		addLogs(ctx, o.clients, failed)
	}
	return outcome.Join(append(errs, failed...))
}
