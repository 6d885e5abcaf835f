package cmd

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// terminal returns the terminal for a screen, or nil if there is none or if an output format was given.
func (o *statusOptions) terminal() *os.File {
	if o.print.format() != "" {
		return nil
	}
	return terminal.Of(o.cluster.streams.Out)
}

// newScreen returns a screen, which the caller must end, or nil if there is no terminal for a screen.
func (o *statusOptions) newScreen(ctx context.Context) *terminal.Screen {
	on := o.terminal()
	if on == nil {
		return nil
	}
	return terminal.NewScreen(ctx, on, terminal.Style(on, o.color), printer.Screen{AllPods: o.pods, Only: o.only})
}

// runWait waits until the objects are ready. On a terminal, it shows them on a screen.
func (o *statusOptions) runWait(ctx context.Context) error {
	targets, errs := o.find(ctx)
	var all []observe.WaitTarget
	for _, t := range targets {
		all = append(all, observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Ready()}})
	}
	reached := func(seen observe.Observation) error {
		return escape.PrintLine(o.cluster.streams.Out, "%s: %s: %s", seen.Target, seen.Report.Verdict, seen.Report.Reason)
	}
	return outcome.Join(append(errs, o.cluster.awaitAll(ctx, o.print.format(), o.limits, all, o.newScreen(ctx), reached)...))
}

// runWatch shows the objects and every change, until all named objects are gone or the context ends.
func (o *statusOptions) runWatch(ctx context.Context) error {
	sources, err := o.sources(ctx)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // following 10,000 pods then needs 20 MiB less memory
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// Rows are printed one by one. If the types differ, even the first row must show its type.
	o.table.Types = o.table.Types || slices.ContainsFunc(sources, func(s observe.Source) bool { return s.Kind.CRD() != sources[0].Kind.CRD() })
	w := &statusWatch{statusOptions: o, toList: len(sources)}
	connection := &follow.Connection{Changed: func(lost time.Time) {
		o.cluster.printErrf("%s", printer.Connection(lost))
	}}
	if w.screen = o.newScreen(ctx); w.screen != nil {
		defer w.screen.End()
		connection.Changed = w.screen.SetLost
	}
	inFull := w.screen != nil && !o.selects()
	f := observe.NewFollower(ctx, o.cluster.Clients, connection, o.extent(inFull), len(sources) > 1 || o.selects(), inFull)
	defer f.Stop()
	errs := outcome.InParallel(len(sources), func(i int) error {
		source := sources[i]
		source.Show, source.Fail = w.show, fail
		return kube.Explain(source.Kind, w.follow(ctx, f, source))
	})
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); o.targets.untyped() {
		errs = errs[:min(1, len(errs))] // usually, the error is the same for all kinds
	}
	return outcome.Join(errs)
}

type statusWatch struct {
	*statusOptions
	// screen is nil if changes are printed as lines.
	screen *terminal.Screen

	mu sync.Mutex
	// toList is the number of sources that are not listed yet. found means that a source had objects. listed
	// means that at least one list was not forbidden. refused is the error of a forbidden list.
	toList  int
	found   bool
	listed  bool
	refused error
}

// show shows the new state of an object. On a screen, an object that was found by type or selector
// disappears when it is deleted or no longer matches --only. A named object stays.
func (w *statusWatch) show(o observe.Observation) error {
	r := o.Report
	switch wanted := w.only.Wants(r); {
	case w.targets.untyped() && o.Object != nil && w.targets.belongs(o.Target, w.among):
	case w.screen == nil && wanted:
		return w.write(w.cluster.streams.Out, []status.Report{r})
	case w.screen == nil:
	case w.selects() && (r.Verdict == status.Deleted || !wanted):
		w.screen.Forget(r)
	default:
		w.screen.Show(r)
	}
	return nil
}

// follow follows a source. If no type is given, it treats a kind that is not installed or is
// forbidden as empty, and lists again after a transient error.
func (w *statusWatch) follow(ctx context.Context, f *observe.Follower, source observe.Source) error {
	listed := false
	source.Listed = func(n int) error {
		listed = true
		return w.noteListed(ctx, n > 0, nil)
	}
	for warned := false; ; warned = true {
		err := f.Follow(ctx, source)
		switch {
		case listed || !w.targets.untyped():
			return err
		case kube.NotServed(err), apierrors.IsForbidden(err):
			return w.noteListed(ctx, false, err)
		case !follow.Transient(err):
			return err
		}
		if !warned && w.screen == nil {
			w.mu.Lock()
			w.cluster.printErrf("Warning: cannot list %s, trying again: %v", source.Kind.CRD(), err)
			w.mu.Unlock()
		}
		if err := follow.Sleep(ctx, follow.Pause); err != nil {
			return err
		}
	}
}

// noteListed records that a source was listed, and whether it had objects or was forbidden. If all sources are
// empty, it prints that nothing was found. If all lists were forbidden, it returns one of their errors.
func (w *statusWatch) noteListed(ctx context.Context, found bool, refused error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.toList--
	w.found = w.found || found
	if !apierrors.IsForbidden(refused) {
		w.listed = true
	} else if w.refused == nil || refused.Error() < w.refused.Error() {
		w.refused = refused // so that every run returns the same error
	}
	switch {
	case w.toList > 0 || w.found:
		return nil
	case !w.listed:
		return w.refused
	}
	return w.targets.sayNothingFound(ctx, w.cluster)
}
