package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

type changeFlags struct {
	common  commonOptions
	targets targetFlags
	print   objectOutput
	// done, such as "scaled", is printed after the name of a changed object.
	done   string
	dryRun dryRun
	limits waitFlags
	wait   bool
	// impliesWait means that a flag of the verb, such as --step, implies --wait.
	impliesWait bool
	// onFailure is what happens to the change if the wait fails or times out: "stop" or "revert".
	onFailure string
	// manager is the field manager. Only verbs that use changeFlags.command have a flag for it.
	manager string
	// reason is why the user makes the change. Only verbs that call addReasonFlag have a flag for it.
	reason string
}

func newChangeFlags(common commonOptions, done string) changeFlags {
	return changeFlags{common: common, done: done, manager: kinds.FieldManager}
}

func (f *changeFlags) addFlags(cmd *cobra.Command) {
	f.targets.addFlags(cmd)
	f.addOutputFlags(cmd)
}

// addOutputFlags adds the flags for output, dry runs, and waiting.
func (f *changeFlags) addOutputFlags(cmd *cobra.Command) {
	f.print.addFlags(cmd)
	f.dryRun.addFlag(cmd)
	f.onFailure = "stop"
	cmd.Flags().BoolVar(&f.wait, "wait", false, "Wait until the change has its full effect: the objects are ready (after pause or park: paused or parked).")
	addTimeout(cmd, &f.limits.Timeout)
	addChoice(cmd, &f.onFailure, "on-failure", "Must be %s. If an object fails, is paused, or is not ready in time, keep the change, or put back what was there before and exit with code 9. Revert implies --wait.", "stop", "revert")
	f.limits.addFlags(cmd)
}

func (f *changeFlags) waits() bool {
	return f.wait || f.impliesWait || f.limits.Timeout > 0 || f.reverts()
}

func (f *changeFlags) reverts() bool { return f.onFailure == "revert" }

// maxReason is the maximum length in bytes of a reason, which is shown in one line.
const maxReason = 1024

func (f *changeFlags) addReasonFlag(cmd *cobra.Command) {
	cmd.Flags().Var(parsed[string]{&f.reason, func(text string) (string, error) {
		if len(text) > maxReason {
			return "", fmt.Errorf("must be no longer than %d bytes", maxReason)
		}
		return text, nil
	}, "string"}, "reason", "Why you make the change, for those who look at the object or at its history.")
}

func (f *changeFlags) complete(args []string) error {
	return cmp.Or(f.targets.complete(args), f.limits.validate(f.waits()), f.print.complete())
}

// changer runs a verb that changes objects. It prints each result, waits for objects, and can revert failed changes.
type changer struct {
	*cluster
	flags *changeFlags
	waits bool
	// reports is the output format of the reports during the wait.
	reports string
	// printing prevents parallel steps from mixing their output.
	printing sync.Mutex
	loops    *loopWarner
	// user returns the name of the user, which the server reports, or "" if the name is unknown.
	user func() string
}

func newChanger(ctx context.Context, on *cluster, flags *changeFlags) *changer {
	c := &changer{
		cluster: on, flags: flags, waits: flags.waits() && flags.dryRun == "none", reports: flags.print.format(),
		user: sync.OnceValue(func() string { return on.User(ctx) }),
	}
	if flags.dryRun == "none" && !c.waits {
		c.loops = newLoopWarner(ctx, on)
	}
	return c
}

// command adds the flags, makes cmd read each target and change it with do, and returns cmd.
func (f *changeFlags) command(cmd *cobra.Command, complete func([]string) error, do func(context.Context, *changer, *observe.Target) (*change, error)) *cobra.Command {
	f.addFlags(cmd)
	cmd.Flags().StringVar(&f.manager, "field-manager", f.manager, "Name of the manager used to track field ownership.")
	return f.targets.command(cmd, f.common, complete, func(ctx context.Context, on *cluster) error {
		c := newChanger(ctx, on, f)
		found, errs := f.targets.find(ctx, on)
		return makeAll(ctx, c, found, errs, func(t observe.Target) (made *change, err error) {
			if err = t.Read(ctx, c.Dynamic); err == nil {
				made, err = do(ctx, c, &t)
			}
			return made, kube.Explain(t.Kind, err)
		})
	})
}

// confirm reports whether to change the replica counts. If there are several changes, it prints them. If
// several counts become zero, it also asks the user, as "kubectl delete -i" does.
func (c *changer) confirm(changes []printer.CountChange, yes bool) (bool, error) {
	if len(changes) < 2 {
		return true, nil
	}
	if err := printer.CountChanges(c.streams.ErrOut, changes); err != nil {
		return false, err
	}
	zeros := problem.Count(changes, func(change printer.CountChange) bool {
		return change.After != nil && *change.After == 0 && (change.Before == nil || *change.Before != 0)
	})
	return c.ask(fmt.Sprintf("This scales %d objects to zero.", zeros), yes || zeros < 2)
}

// ask reports whether the user agrees to a change. Without a terminal, in a dry run, or if yes is set, it returns true.
func (c *changer) ask(what string, yes bool) (bool, error) {
	in, is := c.streams.In.(io.ReadWriter) // a terminal can be read and written
	if yes || c.flags.dryRun != "none" || !is || !terminal.Is(in) || !terminal.Is(c.streams.ErrOut) {
		return true, nil
	}
	if _, err := fmt.Fprintf(c.streams.ErrOut, "%s Do you want to continue? (y/N): ", what); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return true, nil
	}
	c.printErrf("canceled, nothing was changed")
	return false, nil
}

// makeAll calls do for each element, which makes a change or, if there is nothing to report, returns nil. If the command
// waits, makeAll then waits for all changed objects in parallel. A failed change does not stop the other changes. The
// returned error joins errs and the new errors.
func makeAll[T any](ctx context.Context, c *changer, all []T, errs []error, do func(T) (*change, error)) error {
	changes, errs := each(all, errs, func(element T) (*change, error) {
		made, err := do(element)
		if err == nil && made != nil {
			err = c.report(made)
		}
		return made, err
	})
	changes = slices.DeleteFunc(changes, func(made *change) bool { return made == nil })
	return outcome.Join(append(errs, c.follow(ctx, changes)...))
}

func (c *changer) report(made *change) error {
	t := &made.Target
	deed := c.flags.done
	if made.unchanged {
		deed = "unchanged"
	}
	err := c.print(made.object, deed) // returned at the end, so that the messages below are printed anyway
	if made.said != "" {
		c.printErrf("%s: %s", t, c.flags.dryRun.mark(made.said))
	}
	c.loops.warn(t)
	for _, note := range made.notes {
		c.printErrf("%s", note)
	}
	return err
}

func (c *changer) print(obj *unstructured.Unstructured, deed string) error {
	c.printing.Lock()
	defer c.printing.Unlock()
	p := c.flags.print.printer
	if c.waits && c.reports == "json" {
		p = c.flags.print.onOneLine()
	}
	return printObject(c.streams.Out, p, obj, c.flags.dryRun.mark(deed))
}

func (c *changer) edits() edit.Options {
	return edit.Options{FieldManager: c.flags.manager, DryRun: c.flags.dryRun.server(), Local: c.flags.dryRun.client()}
}

// edit writes the edits that plan returns for t.Object. On a conflict, it reads the object and plans again.
func (c *changer) edit(ctx context.Context, t *observe.Target, plan func(*unstructured.Unstructured) (edit.Plan, error)) (edit.Written, error) {
	c.loops.begin(t)
	return edit.Apply(ctx, t.Resource(c.Dynamic), t.Name, t.Object, plan, c.edits())
}

// edited returns the change that a write made. until is the condition to wait for. undone is the description that a
// revert of the change returns. If marks is not nil, a revert also makes the edits that marks returns.
func (c *changer) edited(t *observe.Target, done edit.Written, until observe.Condition, undone string, marks func(context.Context) []fieldpath.Edit) *change {
	return &change{
		WaitTarget: observe.WaitTarget{Target: *t, UID: done.Object.GetUID(), Conditions: []observe.Condition{until}, Check: done.Check},
		object:     done.Object,
		revert: func(ctx context.Context) (string, error) {
			var with []fieldpath.Edit
			if marks != nil {
				with = marks(ctx)
			}
			_, err := edit.Revert(ctx, t.Resource(c.Dynamic), done, with, c.edits())
			return undone, err
		},
	}
}

// readBefore reports on a target and its pods before a change. It returns an empty report if the command does not wait.
func (c *changer) readBefore(ctx context.Context, t *observe.Target) (status.Report, error) {
	if !c.waits {
		return status.Report{}, nil
	}
	_, before, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Depth: observe.Below})
	return before.Report, err
}

// each calls do for each element, even after an error. It returns the results, and errs with the new errors.
func each[S, T any](all []S, errs []error, do func(S) (T, error)) ([]T, []error) {
	var done []T
	for _, element := range all {
		result, err := do(element)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, result)
	}
	return done, errs
}

// showEach calls show for each target, even after an error, and prints what show writes, with separators in between.
func (c *cluster) showEach(targets []observe.Target, errs []error, separator string, show func(w io.Writer, t *observe.Target) error) error {
	above := ""
	for _, t := range targets {
		text := bytes.NewBufferString(above)
		err := show(text, &t)
		if err == nil {
			above = separator
			_, err = text.WriteTo(c.streams.Out)
		}
		if err != nil {
			errs = append(errs, kube.Explain(t.Kind, err))
		}
	}
	return outcome.Join(errs)
}
