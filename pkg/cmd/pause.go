package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type pauseOptions struct {
	change changeFlags
	length pauseLength
	yes    bool
}

func newPauseCommand(common commonOptions) *cobra.Command {
	o := &pauseOptions{change: newChangeFlags(common, "paused"), length: pauseLength{For: time.Hour}}
	cmd := &cobra.Command{
		Use:   "pause (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [--for=DURATION|forever] [flags]",
		Short: "Stop the controller from changing the pods of an object for a time",
		Long: `Stop the controller from changing the pods of an ImoocPod (NAME) or another resource
(TYPE/NAME), for example to debug a pod that it would replace. The pause ends by
itself after an hour, after the time in --for, or with "resume". Changes that are
made meanwhile wait. If the object is already paused, the command replaces the end.

Other controllers have no pause that ends by itself. For their objects, the command
needs --for forever, and sets the field that stops the controller, such as
.spec.paused. It refuses types that have no such field, and asks before it suspends
an object that has pods. See docs/pause.md.`,
		Example: `  # Pause an ImoocPod for two hours and say why
  kubectl imoocpod pause foo --for 2h --reason INC-7

  # Pause the rollout of a Deployment until someone resumes it
  kubectl imoocpod pause deployment/web --for forever`,
	}
	o.change.targets.without = toWrite
	cmd.Flags().Var(parsed[pauseLength]{&o.length, parsePauseLength, "duration"}, "for", `The length of time to pause, such as 30m or 2h, or "forever" to pause until someone resumes the object.`)
	completeFlag(cmd, "for", "30m", "1h", "8h", apis.PausedForever)
	o.change.addReasonFlag(cmd)
	addYesFlag(cmd, &o.yes)
	return o.change.command(cmd, o.change.complete, o.pause)
}

func (o *pauseOptions) pause(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	if t.Object.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("%s is being deleted and cannot be paused", t)
	}
	if !t.Kind.Reconciled() {
		return o.turnOn(ctx, c, t)
	}
	now := time.Now()
	end := apis.PausedForever
	if !o.length.Forever {
		end = now.Add(o.length.For).Add(time.Second - 1).UTC().Format(time.RFC3339) // whole seconds, rounded up
	}
	before := apis.ReadPause(t.Object.GetAnnotations())
	made, err := editPause(ctx, c, t, pauseEdits(end, c.user(), o.change.reason), observe.Paused(), "resume")
	if err != nil {
		return nil, err
	}
	made.said = o.length.until(apis.ReadPause(made.object.GetAnnotations()), now)
	if before.Active(now) {
		made.said += "; was " + before.Text(now)
	}
	return made, nil
}

// turnOn sets the field that pauses an object reconciled by another controller. It refuses a pause with an
// end, because nothing would reset the field when the pause ends.
func (o *pauseOptions) turnOn(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	path, err := findSwitch(c.Finder, t)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be paused: %w", t, err)
	}
	field := "." + strings.Join(path, ".")
	if !o.length.Forever {
		err := fmt.Errorf("%s cannot be paused for %s: another controller reconciles it, and nothing would unset %s", t, o.length, field)
		return nil, outcome.WithHint(err, "", commandOn("pause", t, "--for", apis.PausedForever))
	}
	if on, err := o.confirmSuspend(ctx, c, t, field); err != nil || !on {
		return nil, err
	}
	return setSwitch(ctx, c, t, path, true, pauseEdits("", c.user(), o.change.reason), observe.Paused(), "resume")
}

// confirmSuspend reports whether to set the field. If that suspends an object with pods, it asks the user.
func (o *pauseOptions) confirmSuspend(ctx context.Context, c *changer, t *observe.Target, field string) (bool, error) {
	if !strings.HasSuffix(field, ".suspend") || t.Kind.CRD() == kinds.CronJobs {
		return true, nil
	}
	_, before, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Depth: observe.Below})
	pods := "pods"
	switch live := before.Report.ActivePods(); {
	case apierrors.IsForbidden(err): // the user may not list pods
	case err != nil || live == 0:
		return err == nil, err
	default:
		pods = problem.Quantity(live, "pod")
	}
	c.printErrf("Warning: %s: its controller may delete its %s, as %s suspends the whole object", t, pods, field)
	return c.ask("This suspends "+t.String()+".", o.yes)
}

func newResumeCommand(common commonOptions) *cobra.Command {
	f := newChangeFlags(common, "resumed")
	cmd := &cobra.Command{
		Use:   "resume (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [flags]",
		Short: "End the pause of an object",
		Long: `End the pause of an ImoocPod (NAME) or another resource (TYPE/NAME). The controller
then applies the changes that were made during the pause.`,
		Example: `  # Resume an ImoocPod
  kubectl imoocpod resume foo

  # Resume the rollout of a Deployment
  kubectl imoocpod resume deployment/web`,
	}
	f.targets.without = toWrite
	return f.command(cmd, f.complete, resume)
}

func resume(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
	if !t.Kind.Reconciled() {
		path, err := findSwitch(c.Finder, t)
		switch {
		case errors.Is(err, errNoSwitch) && c.flags.targets.untyped():
			return nil, nil // an object without the field cannot be paused
		case err != nil:
			return nil, fmt.Errorf("%s cannot be resumed: %w", t, err)
		}
		return setSwitch(ctx, c, t, path, false, pauseEdits("", "", ""), observe.Ready(), "pause", "--for", apis.PausedForever)
	}
	before, now := apis.ReadPause(t.Object.GetAnnotations()), time.Now()
	edits, said := pauseEdits("", "", ""), "was "+before.Text(now)
	switch {
	case before == (apis.Pause{}):
		edits, said = nil, "was not paused"
	case before.Invalid != "":
		said = "was not paused: " + before.Invalid
	case !before.Active(now):
		said = "its pause had ended at " + apis.Clock(before.Until, now)
	}
	rest := pauseLength{For: max(time.Second, before.Left(now).Round(time.Second)), Forever: before.Forever}
	made, err := editPause(ctx, c, t, edits, observe.Resumed(), "pause", "--for", rest.String())
	if err != nil {
		return nil, err
	}
	if made.said = said; !before.Active(now) {
		made.back = nil
	}
	return made, nil
}

// pauseEdits returns the edits that set the annotations of a pause. An empty value removes the annotation.
func pauseEdits(until, by, reason string) []fieldpath.Edit {
	return []fieldpath.Edit{
		fieldpath.Annotate(apis.AnnotationPausedUntil, until),
		fieldpath.Annotate(apis.AnnotationPausedBy, by),
		fieldpath.Annotate(apis.AnnotationPausedReason, reason),
	}
}

// editPause makes the edits, and fails if another object now has the name of the target. If edits is nil, the
// object already has the wanted state. back is the command that reverts the edits: a verb and its flags.
func editPause(ctx context.Context, c *changer, t *observe.Target, edits []fieldpath.Edit, until observe.Condition, back ...string) (*change, error) {
	done, err := c.edit(ctx, t, func(obj *unstructured.Unstructured) (edit.Plan, error) {
		if obj.GetUID() != t.Object.GetUID() {
			return edit.Plan{}, fmt.Errorf("%w: another object has the name of %s now", outcome.ErrPrecondition, t)
		}
		return edit.Plan{Edits: edits}, nil // without edits, nothing is written
	})
	if err != nil {
		return nil, err
	}
	made := c.edited(t, done, until, "it is as it was", nil)
	made.unchanged = edits == nil
	made.back = new(commandOn(back[0], t, back[1:]...))
	return made, nil
}

// findSwitch returns the path of the field that pauses an object reconciled by another controller.
func findSwitch(finder *discover.Finder, t *observe.Target) ([]string, error) {
	var schema map[string]any
	if !t.Kind.BuiltIn() {
		var err error
		if schema, err = finder.Schema(t.Kind); err != nil {
			return nil, err
		}
	}
	if path := kinds.PauseSwitch(t.Kind, schema); path != nil {
		return path, nil
	}
	return nil, errNoSwitch
}

var errNoSwitch = errors.New("its type has no switch for that: no boolean field .spec.paused, .spec.suspend or .spec.updateStrategy.paused")

// setSwitch sets the field to on and makes the edits in marks, but only if the value or the reason changes.
func setSwitch(ctx context.Context, c *changer, t *observe.Target, path []string, on bool, marks []fieldpath.Edit, until observe.Condition, back ...string) (*change, error) {
	field := "." + strings.Join(path, ".")
	reason := t.Object.GetAnnotations()[apis.AnnotationPausedReason]
	if now, _, _ := unstructured.NestedBool(t.Object.Object, path...); now == on && cmp.Or(c.flags.reason, reason) == reason {
		made, err := editPause(ctx, c, t, nil, until, back...)
		if err == nil {
			made.said = fmt.Sprintf("%s is already %t", field, on)
		}
		return made, err
	}
	c.printErrf("%s: %s", t, c.flags.dryRun.mark(fmt.Sprintf("setting %s to %t", field, on)))
	return editPause(ctx, c, t, append(marks, fieldpath.Edit{Path: fieldpath.Fields(path...), Value: on}), until, back...)
}

// pauseLength is the value of --for: a duration or "forever".
type pauseLength struct {
	For     time.Duration
	Forever bool
}

func parsePauseLength(text string) (pauseLength, error) {
	if text == apis.PausedForever {
		return pauseLength{Forever: true}, nil
	}
	length, err := parseDuration(text)
	if err != nil || length < time.Second {
		return pauseLength{}, errors.New(`must be a duration of at least 1s, such as 2h, or "forever"`)
	}
	return pauseLength{For: length}, nil
}

// String formats the value without trailing zero units.
func (l pauseLength) String() string {
	if l.Forever {
		return apis.PausedForever
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(l.For.String())
}

// until describes the end, the length, and the reason of a pause. It does not name the user, who ran this command.
func (l pauseLength) until(p apis.Pause, now time.Time) string {
	p.By = ""
	return p.Describe(fmt.Sprintf("%s (%s)", apis.Clock(p.Until, now), l))
}
