package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// sight is a target as it was seen at a time.
type sight struct {
	// target has the object that was seen; nil, there is none.
	target
	// report is the model of it. Of what is not there, it says so.
	report status.Report
	// done says that it is as it was waited for.
	done bool
	at   time.Time
}

// differs reports whether a sight shows a person something else than another.
func (s sight) differs(other sight) bool {
	r, o := s.report, other.report
	return r.Verdict != o.Verdict || r.Reason != o.Reason || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// state says how the target is, and what to do about it.
func (s sight) state() string {
	state := escape.Line(fmt.Sprintf("%s: %s", s.report.Verdict, s.report.Reason))
	if s.report.Hint != "" {
		state += "\nhint: " + escape.Line(s.report.Hint)
	}
	return state
}

// awaited is one target and what is waited for of it.
type awaited struct {
	target target
	// goals are waited for one after the other.
	goals []goal
	// uid, if it is known, tells the object from another of its name; since is
	// the version of it that the wait begins with: older ones prove nothing.
	uid   types.UID
	since string
	// reached, if there is one, is told when all goals are.
	reached func(sight) error
}

// awaitAll waits for several targets, and shows how far they have come: in a
// format of JSON by a report to a line for every change, otherwise to a person.
func awaitAll(ctx context.Context, c *clients, streams genericiooptions.IOStreams, format string, limits waitFlags, all []awaited) []error {
	if len(all) == 0 {
		return nil
	}
	a := &awaiter{clients: c, limits: limits}
	if format == "json" {
		encoder := json.NewEncoder(streams.Out)
		var broken error
		a.show = func(s sight) { broken = cmp.Or(broken, encoder.Encode(s.report)) }
		return append(a.await(ctx, all), broken)
	}
	shown := newProgress(streams.ErrOut, all[0].goals[len(all[0].goals)-1].done)
	defer shown.end()
	a.show = shown.show
	return a.await(ctx, all)
}

// awaiter waits for several targets at the same time, under one deadline.
type awaiter struct {
	clients *clients
	limits  waitFlags
	// show is told of every change, one at a time. It knows how to show it.
	show func(sight)
	// closely says that it is told of every look, and that looks see what stands
	// against the object, too.
	closely bool

	showing sync.Mutex
}

// await waits until all goals are met. The errors are those of the targets whose
// are not, in no order.
func (a *awaiter) await(ctx context.Context, all []awaited) []error {
	if a.limits.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.limits.timeout, ErrTimeout)
		defer cancel()
	}
	if _, err := a.clients.dynamic(); err != nil {
		return []error{err} // which is not about any object
	}
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, w := range all {
		running.Go(func() { errs[i] = explain(w.target.kind, a.awaitOne(ctx, w)) })
	}
	running.Wait()
	return errs
}

// awaitOne waits until the goals of one target are met, one after the other.
func (a *awaiter) awaitOne(ctx context.Context, w awaited) error {
	var last sight
	for i, g := range w.goals {
		var err error
		if last, err = a.awaitGoal(ctx, w, g, i == len(w.goals)-1); err != nil {
			return err
		}
	}
	if w.reached == nil {
		return nil
	}
	a.showing.Lock()
	defer a.showing.Unlock()
	return w.reached(last)
}

// awaitGoal waits until one goal of a target is met, and returns how the target
// was seen then.
func (a *awaiter) awaitGoal(ctx context.Context, w awaited, g goal, isLast bool) (sight, error) {
	patience := status.Patience{For: a.limits.failAfter, Endless: !a.limits.failFast || !g.fails}
	var last *sight
	err := a.watch(ctx, w, g, func(s sight) (bool, time.Duration, error) {
		met, err := g.met(ctx, s)
		s.done = met && isLast
		if last == nil || met || a.closely || s.differs(*last) {
			a.tell(s)
		}
		last = &s
		switch {
		case met || err != nil:
			return met, 0, err
		case a.limits.once:
			return false, 0, ErrTimeout
		}
		if s.report.Verdict == status.Paused && !patience.Endless && (!g.counts || !s.report.Counts) {
			return false, 0, paused(s)
		}
		over, again := patience.Look(s.report, s.at)
		if over {
			return false, 0, failed(s)
		}
		if again == 0 && g.below && doubtful(s.report.ReasonCode) {
			again = pause
		}
		return false, again, nil
	})
	switch {
	case err == nil:
		return *last, nil
	case errors.Is(err, ErrTimeout):
		seen := "nothing"
		if last != nil {
			seen = last.state()
		}
		return sight{}, fmt.Errorf("wait for %s %s: %w; last seen: %s", w.target, g.what, err, seen)
	case errors.Is(err, ErrFailed), errors.Is(err, ErrPaused), errors.Is(err, ErrReverted), errors.Is(err, ErrGone), apierrors.IsNotFound(err):
		return sight{}, err // it says which object, and what of it
	}
	return sight{}, fmt.Errorf("wait for %s %s: %w", w.target, g.what, err)
}

// failed says of an object why it will not become ready without help.
func failed(s sight) error {
	return fmt.Errorf("%s has %w: %s", s.target, ErrFailed, printer.Failure(s.report, s.at))
}

// paused says of an object what keeps it, and who must act.
func paused(s sight) error {
	return fmt.Errorf("%s is %w: %s", s.target, ErrPaused, printer.Failure(s.report, s.at))
}

// doubtful reports whether what a verdict rests on is about objects that no watch
// tells of: those are looked at again soon.
func doubtful(code status.Code) bool {
	return slices.Contains([]status.Code{
		status.CodeChildNotReady, status.CodeStatusBehind, status.CodeChangeNotSeen, status.CodeCannotTell, status.CodeConditionFalse,
	}, code)
}

func (a *awaiter) tell(s sight) {
	if a.show == nil {
		return
	}
	a.showing.Lock()
	defer a.showing.Unlock()
	a.show(s)
}

// printLine prints the object that is waited for: in JSON on one line, as the
// reports that follow it.
func printLine(p printers.ResourcePrinter, format string, obj *unstructured.Unstructured, w io.Writer) error {
	if format != "json" {
		return p.PrintObj(obj, w)
	}
	var text, line bytes.Buffer
	if err := p.PrintObj(obj, &text); err != nil {
		return err
	}
	if err := json.Compact(&line, text.Bytes()); err != nil {
		return fmt.Errorf("print %s: %w", obj.GetName(), err)
	}
	_, err := fmt.Fprintln(w, line.String())
	return err
}
