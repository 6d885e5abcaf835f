package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// terminal is the one to draw a screen on, if there is one and no output format
// was asked for.
func (o *statusOptions) terminal() (*os.File, bool) {
	if *o.print.OutputFormat != "" {
		return nil, false
	}
	return liveTerminal(o.streams.Out)
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
func (o *statusOptions) runLive(ctx context.Context, c *clients, terminal *os.File) error {
	if !o.named() || len(o.args) > 0 && o.targets.given() {
		l := o.newLive(ctx, terminal)
		defer l.end()
		return o.runWatch(ctx, c, func(_ io.Writer, reports []status.Report) error {
			for _, r := range reports {
				if r.Verdict == status.Deleted {
					l.forget(r)
				} else {
					l.show(r)
				}
			}
			return nil
		})
	}
	o.limits = waitFlags{}
	return o.await(ctx, c, terminal, func() goal {
		return goal{what: "and looked on", below: true, met: present(func(context.Context, sight) (bool, error) { return false, nil })}
	})
}

// newLive makes the screen that is asked for. It must be ended.
func (o *statusOptions) newLive(ctx context.Context, terminal *os.File) *live {
	return newLive(ctx, terminal, o.color.style(terminal), printer.Screen{AllPods: o.pods, NotReady: o.notReady})
}

// runWait shows the objects until they are ready, or one will not be.
func (o *statusOptions) runWait(ctx context.Context, c *clients) error {
	terminal, is := o.terminal()
	if !is {
		terminal = nil
	}
	return o.await(ctx, c, terminal, ready)
}

// await waits for a goal of each object, and shows them on a terminal or, if
// that is nil, by a line for every change.
func (o *statusOptions) await(ctx context.Context, c *clients, terminal *os.File, wanted func() goal) error {
	targets, errs := o.find(ctx, c)
	if len(targets)+len(errs) == 0 {
		return o.sayNone(c)
	}
	var all []awaited
	for _, t := range targets {
		w := awaited{target: t, goals: []goal{wanted()}}
		if terminal == nil && *o.print.OutputFormat == "" {
			w.reached = func(s sight) error {
				return say(o.streams.Out, "%s: %s: %s", s.target, s.report.Verdict, s.report.Reason)
			}
		}
		all = append(all, w)
	}
	if terminal == nil {
		return together(append(errs, awaitAll(ctx, c, o.streams, *o.print.OutputFormat, o.limits, all)...))
	}
	l := o.newLive(ctx, terminal)
	defer l.end()
	a := &awaiter{clients: c, limits: o.limits, closely: true, show: func(s sight) { l.show(s.report) }}
	return together(append(errs, a.await(ctx, all)...))
}
