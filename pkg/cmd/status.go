package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/logs"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

type statusOptions struct {
	targets  targetFlags
	print    objectOutput
	watch    bool
	only     status.Only
	exitCode bool
	wait     bool
	limits   waitFlags
	pods     bool
	color    string

	// write prints reports in the output format. The table formats use the settings in table.
	write   func(io.Writer, []status.Report) error
	table   printer.Table
	cluster *cluster
	// among holds the kinds that are watched, unless objects are named.
	among []kinds.Kind
	// word is the ImoocPod that a single bare word names, or nil.
	word *unstructured.Unstructured
}

func newStatusCommand(common commonOptions) *cobra.Command {
	o := &statusOptions{targets: targetFlags{without: toRead, optional: true}}
	cmd := &cobra.Command{
		Use:   "status [NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME] [-l label] [-A] [--only=STATE] [--watch | --wait] [flags]",
		Short: "Show whether ImoocPods and other objects are ready, and why not",
		Long: `Show whether ImoocPods (NAME) and other objects with replicas (TYPE/NAME) are ready,
and why not. One object is shown in full, and several are a table. A TYPE alone
lists the objects of that type. Without arguments, the command lists Deployments,
StatefulSets, DaemonSets, and the custom resources whose replica field is known. For
a pod, it shows the owner.

The verdict is "ready", "failed" if the object cannot become ready without help,
"paused", "parked", "not reconciled" if no controller has seen the object, "unknown"
if its status does not say how it is doing, or "progressing". docs/status-json.md
explains the verdicts and reasons.

The exit code is 0 if the objects could be read, whatever the verdicts. With
--exit-code it is 0 if all objects in the output are ready or parked, 3 if one has
failed or is paused, and 4 otherwise.`,
		Example: `  # Show an ImoocPod, or any object that has pods, in full
  kubectl imoocpod status foo
  kubectl imoocpod status deployment/web

  # List what is not ready, and what is ready but paused, in all namespaces, with the reasons
  kubectl imoocpod status -A --only not-ready,paused

  # Watch until both are ready, for at most five minutes
  kubectl imoocpod status imoocpod/foo deployment/web --wait --timeout 5m

  # Print the reason for a script
  kubectl imoocpod status foo -o jsonpath='{.reasonCode}'`,
	}
	o.print.addFlags(cmd, "custom-columns", "wide")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "After showing the objects, watch for changes until Ctrl-C.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Watch until all objects are ready, or one cannot become ready without help.")
	addTimeout(cmd, &o.limits.Timeout)
	o.limits.addFlags(cmd)
	cmd.Flags().BoolVar(&o.pods, "pods", false, "On a terminal, list every pod instead of folding similar ones.")
	addColorFlag(cmd, &o.color)
	o.targets.addFlags(cmd)
	addAllNamespacesFlag(cmd, &o.targets.allNamespaces)
	addChoices(cmd, (*[]string)(&o.only), "only", "Show only the objects in these states, with the reasons. Must be %s (neither ready nor parked); commas separate several.", status.States()...)
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "Exit with code 0 if all objects are ready or parked, 3 if one has failed or is paused, and 4 otherwise.")
	cmd.Flags().BoolVar(&o.table.NoHeaders, "no-headers", false, "When using the default output format, don't print headers.")
	return o.targets.command(cmd, common, o.complete, o.run)
}

func (o *statusOptions) complete(args []string) (err error) {
	if len(args) == 1 && strings.ContainsFunc(args[0], notInNames) && !strings.Contains(args[0], "/") {
		o.targets.all = true // list all objects of these types
	}
	if len(args) > 0 || o.targets.fromFiles() {
		if err = o.targets.complete(args); err != nil {
			return err
		}
	}
	o.wait = o.wait || o.limits.Timeout > 0
	if o.write, err = o.writer(); err != nil {
		return err
	}
	_, err = labels.Parse(o.targets.selector)
	switch format := o.print.format(); {
	case err != nil:
		return usageErrorf("invalid --selector: %w", err)
	case o.watch && o.exitCode:
		return usageErrorf("--exit-code and --watch cannot be used together")
	case o.wait && o.watch:
		return usageErrorf("--watch and --wait cannot be used together")
	case o.wait && format != "" && format != "json":
		return usageErrorf("--wait supports only -o json, not -o %s", format)
	}
	return o.limits.validate(o.wait)
}

// notInNames reports whether a character can be in a type, such as "Deployment" or "pods,nodes", but not in a name.
func notInNames(r rune) bool { return r == ',' || unicode.IsUpper(r) }

func (o *statusOptions) run(ctx context.Context, c *cluster) error {
	o.cluster = c
	o.takeWord(ctx)
	switch {
	case o.wait:
		return o.runWait(ctx)
	case o.watch:
		return o.runWatch(ctx)
	}
	return o.runOnce(ctx)
}

func (o *statusOptions) writer() (func(io.Writer, []status.Report) error, error) {
	o.table.Namespaces, o.table.Wide = o.targets.allNamespaces, len(o.only) > 0 || o.print.format() == "wide"
	o.table.Types = len(o.targets.args) > 0 && strings.Contains(o.targets.args[0], ",") // as in kubectl
	if o.targets.untyped() {
		// A NAME without a type means an ImoocPod, so the other rows show their type.
		o.table.Type, o.table.Types = kinds.ImoocPod().String(), defaultType() != kinds.ImoocPod().Singular
	}
	name := func(r status.Report) string { return r.Metadata.Type + "/" + r.Metadata.Name }
	single := func() bool { return o.one() || o.watch }
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}}
	return listWriter(&o.print, o.table.NoHeaders, o.printText, name, single, list)
}

// printText prints a table or, for one named object, the whole report. With --no-headers, it always prints a table.
func (o *statusOptions) printText(w io.Writer, reports []status.Report) error {
	if !o.one() || o.table.NoHeaders || len(reports) != 1 {
		return o.table.Print(w, reports, time.Now())
	}
	on := o.terminal()
	if on == nil {
		return printer.Report(w, reports[0], time.Now())
	}
	width, _ := terminal.Size(on)
	screen := printer.Screen{Reports: reports, AllPods: o.pods}
	lines := screen.Frame(width, 0, terminal.Style(w, o.color), time.Now())
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

func (o *statusOptions) runOnce(ctx context.Context) error {
	targets, errs := o.find(ctx)
	reports, errs := o.reports(ctx, targets, errs)
	reports = slices.DeleteFunc(reports, func(r status.Report) bool { return !o.only.Wants(r) })
	nothing := len(reports) == 0 && (len(errs) == 0 || len(errs) == 1 && errors.Is(errs[0], errNothingFound))
	if nothing && !slices.Contains([]string{"", "wide", "name"}, o.print.format()) {
		return o.write(o.cluster.streams.Out, nil) // an empty list, as with kubectl
	}
	if nothing && len(errs) == 0 {
		return escape.PrintLine(o.cluster.streams.ErrOut, "%s", o.only.None(len(targets)))
	}
	if len(reports) > 0 {
		errs = append(errs, o.write(o.cluster.streams.Out, reports))
	}
	if o.exitCode {
		errs = append(errs, verdicts(reports)...)
	}
	return outcome.Join(errs)
}

// reports returns a report or an error for each target. It adds the errors to errs, equal Forbidden errors only once.
func (o *statusOptions) reports(ctx context.Context, targets []observe.Target, errs []error) ([]status.Report, []error) {
	all, failed := make([]status.Report, len(targets)), make([]error, len(targets))
	reader := observe.NewReader(ctx, o.cluster.Clients, len(targets) > maxParallel)
	defer reader.Stop()
	extent := o.extent(o.one())
	// ParallelizeUntil skips the remaining items when its context ends, but each target needs a report or an error.
	workqueue.ParallelizeUntil(context.WithoutCancel(ctx), maxParallel, len(targets), func(i int) {
		_, seen, err := reader.Read(ctx, targets[i], extent)
		if err == nil && extent.Competitors {
			logs.AddLastLine(ctx, o.cluster.Core, &seen.Report)
		}
		all[i], failed[i] = seen.Report, kube.Explain(targets[i].Kind, err)
	})
	var reports []status.Report
	for i, err := range failed {
		switch {
		case err == nil:
			reports = append(reports, all[i])
		case apierrors.IsForbidden(err) && slices.ContainsFunc(errs, func(seen error) bool { return seen.Error() == err.Error() }):
			// The error for a forbidden list names no object, so all objects get the same error.
		default:
			errs = append(errs, err)
		}
	}
	return reports, errs
}

// verdicts returns errors with exit codes for the objects that are neither ready nor parked.
func verdicts(reports []status.Report) []error {
	var errs []error
	for _, r := range reports {
		what := r.Metadata.Type + "/" + r.Metadata.Name
		switch r.Verdict {
		case status.Ready, status.Parked:
		case status.Paused:
			errs = append(errs, fmt.Errorf("%s is %w: %s", what, outcome.ErrPaused, escape.Line(r.Reason)))
		case status.Failed:
			errs = append(errs, fmt.Errorf("%s has %w: %s", what, outcome.ErrFailed, escape.Line(r.Reason)))
		default:
			errs = append(errs, fmt.Errorf("%s is %w: %s: %s", what, outcome.ErrNotReady, r.Verdict, escape.Line(r.Reason)))
		}
	}
	return errs
}

// extent returns how much to read of each object. Rows of a table, names, and lists of all types need no competitors.
func (o *statusOptions) extent(inFull bool) observe.Extent {
	row := slices.Contains([]string{"", "wide", "name"}, o.print.format()) && !inFull
	return observe.Extent{Depth: observe.Reasons, Competitors: !row && !o.targets.untyped()}
}
