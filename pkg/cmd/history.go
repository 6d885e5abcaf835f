package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type historyOptions struct {
	targets  targetFlags
	output   *output
	revision int64
	// diff holds the numbers of two revisions to compare, or is nil.
	diff *[2]int64
}

func newHistoryCommand(common commonOptions) *cobra.Command {
	o := &historyOptions{targets: targetFlags{without: toRead, optional: true}}
	cmd := &cobra.Command{
		Use:   "history (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [--revision=N | --diff=N..M] [flags]",
		Short: "Show the earlier pod templates of an object",
		Long: `Show the revisions of an ImoocPod (NAME) or another resource (TYPE/NAME), the newest
first: when each was made, by whom, and what it changed. The revisions are those that
"run-controller" keeps, and the ControllerRevisions and ReplicaSets of other
controllers.

CHANGE is what differs from the template before, and the reason that was given with
--reason. It ends with "(never ready)" if the change was reverted because of that.
For a Deployment or a Rollout, AGE is that of its ReplicaSet, or since a reused one
was last written.`,
		Example: `  # Show the revisions of a Deployment
  kubectl imoocpod history deployment/web

  # Show what changed from revision 1 to revision 2
  kubectl imoocpod history deployment/web --diff 1..2`,
	}
	o.output = addOutputFlag(cmd, "Output format. One of: (%s).", "json", "yaml")
	o.targets.addFlags(cmd)
	cmd.Flags().Var(numberFlag(&o.revision, 0), "revision", "Show the whole pod template of this revision.")
	cmd.Flags().Var(optional(&o.diff, parseDiff, "string"), "diff", "Show what changed from one revision to another, as N..M.")
	return o.targets.command(cmd, common, o.complete, o.run)
}

func (o *historyOptions) complete(args []string) error {
	switch err := o.targets.complete(args); {
	case err != nil:
		return err
	case o.diff != nil && o.revision != 0:
		return usageErrorf("--revision and --diff cannot be used together")
	case o.diff != nil && o.output.format != "":
		return usageErrorf("--output and --diff cannot be used together")
	}
	return o.output.validate()
}

func parseDiff(text string) (diff [2]int64, err error) {
	first, second, _ := strings.Cut(text, "..")
	from, err := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(second, 10, 64)
	if err != nil || err2 != nil || from < 1 || to < 1 {
		return diff, errors.New("must be two revisions, as in 2..3")
	}
	return [2]int64{from, to}, nil
}

func (o *historyOptions) run(ctx context.Context, c *cluster) error {
	targets, errs := o.targets.find(ctx, c)
	separator, titles := "", false
	switch {
	case o.output.format == "yaml":
		separator = "---\n"
	case o.output.format == "" && o.diff == nil:
		separator, titles = "\n", len(targets) > 1
	}
	return c.showEach(targets, errs, separator, func(w io.Writer, t *observe.Target) error {
		if titles {
			_, _ = fmt.Fprintln(w, escape.Line(t.String())) // a buffer returns no error
		}
		return o.show(ctx, c, w, t)
	})
}

// show writes the revisions of one object.
func (o *historyOptions) show(ctx context.Context, c *cluster, w io.Writer, t *observe.Target) error {
	if err := t.Read(ctx, c.Dynamic); err != nil {
		return err
	}
	h, err := template.History(ctx, c.Dynamic, *t)
	if err != nil {
		return err
	}
	switch rows := historyRows(t, h); {
	case o.diff != nil:
		return o.showDiff(w, t, h)
	case o.revision != 0:
		picked, err := h.Pick(o.revision)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		return o.output.write(w, revision.Object(picked.Fields), "    ")
	case o.output.format != "":
		return o.output.write(w, map[string]any{"object": t.String(), "revisions": rows}, "    ")
	default:
		return printer.History(w, rows, time.Now())
	}
}

// historyRows returns a row for each revision. For the current one, By defaults to the template's field manager.
func historyRows(t *observe.Target, h revision.History) []printer.Revision {
	rows := make([]printer.Revision, 0, len(h.Revisions))
	current := h.Current()
	for i, r := range h.Revisions {
		row := printer.Revision{
			Revision: r.Number, Created: r.Created, By: h.By(i), Change: h.Change(i),
			NeverReady: template.MarkedFailed(*t, r), Current: i == current,
		}
		if row.Current {
			manager, _ := r.Fields[0].Path.Manager(t.Object)
			row.By = cmp.Or(row.By, manager)
		}
		rows = append(rows, row)
	}
	return rows
}

func (o *historyOptions) showDiff(w io.Writer, t *observe.Target, h revision.History) error {
	from, to := o.diff[0], o.diff[1]
	was, noFrom := h.Pick(from)
	is, noTo := h.Pick(to)
	if err := cmp.Or(noFrom, noTo); err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	return printer.DiffYAML(w, fmt.Sprintf("%s revision %d", t, from), fmt.Sprintf("%s revision %d", t, to), revision.Object(was.Fields), revision.Object(is.Fields))
}
