package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type historyOptions struct {
	targetFlags
	commonOptions

	output   *output
	revision int64
	diff     string
	// from and to are the revisions that --diff compares.
	from, to int64
}

func newHistoryCommand(common commonOptions) *cobra.Command {
	o := &historyOptions{commonOptions: common}
	cmd := &cobra.Command{
		Use:   "history (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--revision=N | --diff=N..M]",
		Short: "Show the earlier pod templates of an object",
		Long: `Show the revisions of an ImoocPod (NAME) or another resource (TYPE/NAME, or other
arguments of kubectl), the newest first: when each was made, by whom, and what it
changed.

"run-controller" keeps a revision for each pod template that it has rolled out.
For other resources, the command reads the ControllerRevisions and ReplicaSets that
their controllers keep, such as those of Deployments, StatefulSets, DaemonSets,
CloneSets, and Rollouts.

CHANGE is the reason that was given with --reason, or else what differs from the
revision before. For a Deployment or a Rollout, AGE is that of its ReplicaSet.`,
		Example: `  # Show the revisions of a Deployment
  kubectl imoocpod history deployment/web

  # Show the whole pod template of revision 2
  kubectl imoocpod history deployment/web --revision 2

  # Show what changed from revision 1 to revision 2
  kubectl imoocpod history deployment/web --diff 1..2`,
	}
	o.output = addOutputFlag(cmd, "Output format. One of: (%s).", "json", "yaml")
	o.addFlags(cmd)
	cmd.Flags().Int64Var(&o.revision, "revision", 0, "Show the whole pod template of this revision.")
	cmd.Flags().StringVar(&o.diff, "diff", "", "Show what changed from one revision to another, as N..M.")
	return bind(cmd, o)
}

func (o *historyOptions) validate() error {
	switch {
	case o.revision < 0:
		return usageErrorf("--revision must be the number of a revision, not %d", o.revision)
	case o.diff != "" && o.revision != 0:
		return usageErrorf("--revision and --diff cannot be used together")
	case o.diff != "" && o.output.format != "":
		return usageErrorf("--output and --diff cannot be used together")
	case o.diff != "":
		from, to, both := strings.Cut(o.diff, "..")
		var err, err2 error
		o.from, err = strconv.ParseInt(from, 10, 64)
		o.to, err2 = strconv.ParseInt(to, 10, 64)
		if !both || err != nil || err2 != nil || o.from < 1 || o.to < 1 {
			return usageErrorf("--diff must be two revisions, as in 2..3, not %q", o.diff)
		}
	}
	return o.output.validate()
}

// Run shows the revisions of the objects. One that has none does not stop the others.
func (o *historyOptions) Run(ctx context.Context) error {
	targets, errs := o.find(ctx, o.clients)
	if len(targets)+len(errs) == 0 {
		return o.sayNothingFound(&o.commonOptions)
	}
	shown := false
	for _, t := range targets {
		if err := o.show(ctx, t, len(targets) > 1, shown); err != nil {
			errs = append(errs, kube.Explain(t.Kind, err))
			continue
		}
		shown = true
	}
	return outcome.Join(errs)
}

// show shows one object. Of several, each is named.
func (o *historyOptions) show(ctx context.Context, t observe.Target, named, further bool) error {
	history, t, err := readHistory(ctx, o.clients, t)
	if err != nil {
		return err
	}
	if named && o.output.format == "" && o.diff == "" {
		if further {
			if _, err := fmt.Fprintln(o.streams.Out); err != nil {
				return err
			}
		}
		if err := escape.PrintLine(o.streams.Out, "%s", t); err != nil {
			return err
		}
	}
	switch {
	case o.diff != "":
		return o.showDiff(t, history)
	case o.revision != 0:
		r, err := history.Pick(o.revision)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		return o.output.write(o.streams.Out, revision.Object(r.Fields), "    ")
	}
	rows := historyRows(t, history)
	if o.output.format != "" {
		return o.output.write(o.streams.Out, map[string]any{"revisions": rows}, "    ")
	}
	return printer.History(o.streams.Out, rows, time.Now())
}

// readHistory reads a target, unless that was done, and its revisions.
func readHistory(ctx context.Context, c *kube.Factory, t observe.Target) (revision.History, observe.Target, error) {
	client, err := c.Dynamic()
	if err != nil {
		return revision.History{}, t, err
	}
	if err := t.Read(ctx, client); err != nil {
		return revision.History{}, t, err
	}
	history, err := template.History(ctx, client, t)
	return history, t, err
}

// historyRows are the revisions as they are shown. Who made the current one, managedFields
// tell where nothing else does.
func historyRows(t observe.Target, h revision.History) []printer.Revision {
	rows := make([]printer.Revision, 0, len(h.Revisions))
	for i, r := range h.Revisions {
		row := printer.Revision{Revision: r.Number, By: h.By(i), Change: h.Change(i), Current: i == h.Current()}
		if !r.Created.IsZero() {
			row.Created = &r.Created
		}
		if row.Current {
			manager, _ := r.Fields[0].Path.Manager(t.Object)
			row.By = cmp.Or(row.By, manager)
		}
		rows = append(rows, row)
	}
	return rows
}

func (o *historyOptions) showDiff(t observe.Target, h revision.History) error {
	from, err := h.Pick(o.from)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	to, err := h.Pick(o.to)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	return diffFields(o.streams.Out, fmt.Sprintf("%s revision %d", t, o.from), fmt.Sprintf("%s revision %d", t, o.to), from.Fields, to.Fields)
}

// diffFields writes the unified diff of what pods are made from, as YAML.
func diffFields(w io.Writer, fromName, toName string, from, to []revision.Field) error {
	was, err := yaml.Marshal(revision.Object(from))
	if err != nil {
		return err
	}
	is, err := yaml.Marshal(revision.Object(to))
	if err != nil {
		return err
	}
	return printer.Diff(w, fromName, toName, string(was), string(is))
}
