package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type pauseOptions struct {
	pauseChange

	length pauseLength
	reason string
}

func newPauseCommand(common commonOptions) *cobra.Command {
	o := &pauseOptions{pauseChange: pauseChange{changeOptions: newChangeOptions(common, "paused")}, length: pauseLength{For: time.Hour}}
	cmd := &cobra.Command{
		Use:   "pause (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--for=DURATION|forever] [--reason=TEXT] [--dry-run=server|client|none] [--wait]",
		Short: "Stop the controller from changing the pods of an object for a time",
		Long: `Stop the controller from changing the pods of an ImoocPod (NAME) or another resource
(TYPE/NAME, or other arguments of kubectl), for example to debug a pod that it would
replace. The pause ends by itself after an hour, after the time in --for, or with
"resume". To pause an object until someone resumes it, use --for forever.

While an object is paused, the controller creates and deletes no pods for it and
writes no Deployment. It keeps the status up to date, with the condition Paused. When
the pause ends, it applies the changes that were made during the pause. You can delete
a paused object. If the object is already paused, the command replaces the end.

Other controllers have no pause that ends by itself. For their objects, the command
needs --for forever, and sets the field that stops the controller: .spec.paused,
.spec.suspend or .spec.updateStrategy.paused. It refuses types that have none of
these fields.`,
		Example: `  # Pause an ImoocPod for an hour
  kubectl imoocpod pause foo

  # Pause an ImoocPod for two hours and say why
  kubectl imoocpod pause foo --for 2h --reason INC-7

  # Pause all ImoocPods in the namespace for half an hour
  kubectl imoocpod pause imoocpods --all --for 30m

  # Pause the rollout of a Deployment until someone resumes it
  kubectl imoocpod pause deployment/web --for forever`,
	}
	o.addFlags(cmd, "Wait until the controller has seen the pause.")
	cmd.Flags().Var(&o.length, "for", `The length of time to pause, such as 30m or 2h, or "forever" to pause until someone resumes the object.`)
	completeFlag(cmd, "for", "30m", "1h", "8h", apis.PausedForever)
	cmd.Flags().StringVar(&o.reason, "reason", "", "Why the object is paused, for those who find it.")
	return bind(cmd, o)
}

func (o *pauseOptions) Run(ctx context.Context) error {
	by := sync.OnceValue(func() string { return o.clients.User(ctx) })
	return o.each(ctx, func(ctx context.Context, t observe.Target) (*change, error) {
		if t.Object.GetDeletionTimestamp() != nil {
			return nil, fmt.Errorf("%s is being deleted and cannot be paused", t)
		}
		if t.Kind.Reconciled() {
			return o.pause(ctx, t, by())
		}
		return o.turnOn(ctx, t)
	})
}

// pause pauses an object that the controller of this program reconciles. by is who asks
// for that, as the server knows them.
func (o *pauseOptions) pause(ctx context.Context, t observe.Target, by string) (*change, error) {
	now := time.Now()
	end := apis.PausedForever
	if !o.length.Forever {
		end = now.Add(o.length.For + time.Second - 1).UTC().Format(time.RFC3339) // it tells whole seconds, and is not to come early
	}
	before := apis.ReadPause(t.Object.GetAnnotations())
	c, err := o.write(ctx, t, pauseEdits(end, by, o.reason), observe.Paused(), "resume")
	if err != nil {
		return nil, err
	}
	text := o.length.until(apis.ReadPause(c.written.Object.GetAnnotations()), now)
	if before.Active(now) {
		text += "; was " + before.Text(now)
	}
	if err := o.tellOf(o.printer, t, c.written.Object, text); err != nil {
		return nil, err
	}
	if !o.waits() {
		o.loops.warn(ctx, t)
	}
	return c, nil
}

// pauseEdits set the annotations of a pause. What is empty is removed.
func pauseEdits(until, by, reason string) []fieldpath.Edit {
	var edits []fieldpath.Edit
	for _, a := range [][2]string{{apis.AnnotationPausedUntil, until}, {apis.AnnotationPausedBy, by}, {apis.AnnotationPausedReason, reason}} {
		e := fieldpath.Edit{Path: fieldpath.Fields("metadata", "annotations", a[0])}
		if a[1] != "" {
			e.Value = a[1]
		}
		edits = append(edits, e)
	}
	return edits
}

// turnOn sets the switch of an object of another program. Nothing would unset it.
func (o *pauseOptions) turnOn(ctx context.Context, t observe.Target) (*change, error) {
	path, err := o.findSwitch(t)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be paused: %w", t, err)
	}
	field := "." + strings.Join(path, ".")
	switch {
	case !o.length.Forever:
		err := fmt.Errorf("%s cannot be paused for %s: another controller reconciles it, and nothing would unset %s", t, &o.length, field)
		return nil, outcome.WithHint(err, "", commandline.Plugin("pause", t.String(), "--for", apis.PausedForever).In(t.Namespace))
	case o.reason != "":
		return nil, fmt.Errorf("%s cannot be paused with --reason: another controller reconciles it, and %s holds no text", t, field)
	}
	if t.Kind.CRD() == "jobs.batch" {
		if err := escape.PrintLine(o.streams.ErrOut, "Warning: %s: suspending a Job deletes its running pods", t); err != nil {
			return nil, err
		}
	}
	return o.set(ctx, t, path, true, observe.Paused(), "resume")
}

// pauseLength is the value of --for: a duration or "forever".
type pauseLength struct {
	For     time.Duration
	Forever bool
}

func (l *pauseLength) Set(text string) error {
	if text == apis.PausedForever {
		*l = pauseLength{Forever: true}
		return nil
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < time.Second {
		return errors.New(`must be a duration of at least 1s, such as 2h, or "forever"`)
	}
	*l = pauseLength{For: length}
	return nil
}

// String returns the value, without the units that are zero at its end.
func (l *pauseLength) String() string {
	if l.Forever {
		return apis.PausedForever
	}
	text := l.For.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (l *pauseLength) Type() string { return "duration" }

// until says until when an object is paused, with the length of that, and why. Who
// paused it needs no telling to themselves.
func (l *pauseLength) until(p apis.Pause, now time.Time) string {
	text := "paused forever"
	if !l.Forever {
		text = fmt.Sprintf("paused until %s (%s)", apis.Clock(p.Until, now), l)
	}
	if p.Reason != "" {
		text += ": " + strings.Join(strings.Fields(p.Reason), " ")
	}
	return text
}
