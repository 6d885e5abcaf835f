package cmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/logs"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

type logsOptions struct {
	targets targetFlags
	follow  bool
	wanted  logs.Wanted
	logs    logs.Reader
	since   time.Duration
	output  *output
	color   string
	given   func(flag string) bool
}

func newLogsCommand(common commonOptions) *cobra.Command {
	o := &logsOptions{targets: targetFlags{without: toRead, optional: true}, logs: logs.Reader{Tail: 20, Most: 50, Out: &logs.Output{}}}
	cmd := &cobra.Command{
		Use:   "logs (NAME | TYPE/NAME ... | TYPE NAME ... | -l label) [-f] [flags]",
		Short: "Show what the pods of an ImoocPod or another object wrote",
		Long: `Show the logs of all pods of an ImoocPod (NAME) or of another object (TYPE/NAME): the
last 20 lines of each pod, failing pods last. For each pod, the command shows the
default container and the container that is not ready. If that container crashed and
was restarted, the last lines of the run that crashed come first.

With --follow, the command prints every line exactly once, through restarts and
replacements, until Ctrl-C or until the object is gone. See docs/logs.md.`,
		Example: `  # Show the last lines of each pod of an ImoocPod, failing pods last
  kubectl imoocpod logs foo

  # Follow the pods of a Deployment that are not ready
  kubectl imoocpod logs deployment/web --failing -f

  # Show the pod of slot 2, and how its previous run ended
  kubectl imoocpod logs foo --slot 2 --previous`,
	}
	flags := cmd.Flags()
	o.given = flags.Changed
	o.targets.addSelectFlags(cmd)
	flags.BoolVarP(&o.follow, "follow", "f", false, "Continue until Ctrl-C or until the objects are gone, through restarts and replacements.")
	flags.BoolVar(&o.wanted.Failing, "failing", false, "Show only the pods that are not ready.")
	addContainerFlag(cmd, &o.wanted.Container)
	flags.BoolVar(&o.wanted.AllContainers, "all-containers", false, "Show all containers of each pod, init containers too.")
	flags.StringVar(&o.wanted.Slot, "slot", "", "Show only the pod of this slot: the last part of its name.")
	flags.BoolVarP(&o.logs.Previous, "previous", "p", false, "Show the log of the previous run of each restarted container.")
	flags.Var(numberFlag(&o.logs.Tail, -1), "tail", "Number of last lines of each container to show. -1 shows all. With --since or --grep, the default is all.")
	addDuration(flags, &o.since, "since", "Show only lines newer than a duration such as 5s, 2m or 3h.")
	flags.Var(parsed[*regexp.Regexp]{&o.logs.Out.Only, regexp.Compile, "regexp"}, "grep", "Show only the lines that match a regular expression.")
	flags.BoolVar(&o.logs.Out.Timestamps, "timestamps", false, "Put the time before each line.")
	flags.Var(numberFlag(&o.logs.Most, 1), "max-log-requests", "Maximum number of logs to read at once. With more containers, the logs are read in turn.")
	o.output = addOutputFlag(cmd, "Output format. One of: (%s). JSON has an object for each line, raw the lines as they are.", "json", "raw")
	addColorFlag(cmd, &o.color)
	return o.targets.command(cmd, common, o.complete, o.run)
}

func (o *logsOptions) complete(args []string) error {
	switch err := o.targets.complete(args); {
	case err != nil:
		return err
	case o.follow && o.logs.Previous:
		return usageErrorf("--previous and --follow cannot be used together")
	case o.wanted.Container != "" && o.wanted.AllContainers:
		return usageErrorf("--container and --all-containers cannot be used together")
	}
	return o.output.validate()
}

func (o *logsOptions) run(ctx context.Context, c *cluster) error {
	targets, errs := o.targets.find(ctx, c)
	if len(targets) == 0 {
		return outcome.Join(errs)
	}
	o.wanted.FullNames = len(targets) > 1
	o.logs.Open = logs.Server(c.Core)
	out := o.logs.Out
	out.Out, out.ErrOut, out.Format = c.streams.Out, c.streams.ErrOut, o.output.format
	out.Paint = terminal.Style(c.streams.Out, o.color).Hue
	if o.since > 0 {
		o.logs.Since = time.Now().Add(-o.since)
	}
	if (o.since > 0 || out.Only != nil) && !o.given("tail") {
		o.logs.Tail = -1
	}
	if o.follow {
		return outcome.Join(append(errs, o.runFollow(ctx, c, targets)...))
	}
	all, errs := each(targets, errs, func(t observe.Target) ([]logs.Container, error) { return o.containers(ctx, c, t) })
	return outcome.Join(append(errs, o.logs.Once(ctx, slices.Concat(all...))...))
}

// containers returns the selected containers of a target. If there are none, it prints or returns the reason.
func (o *logsOptions) containers(ctx context.Context, c *cluster, t observe.Target) ([]logs.Container, error) {
	_, seen, err := observe.Read(ctx, c.Clients, t, observe.Extent{Depth: observe.Below})
	if err != nil {
		return nil, kube.Explain(t.Kind, err)
	}
	if all := logs.Containers(seen.Report, o.wanted); len(all) > 0 {
		return all, nil
	}
	why, wrong := o.none(t, seen.Report)
	if wrong {
		return nil, errors.New(why)
	}
	o.logs.Out.Say("%s", why)
	return nil, nil
}

func (o *logsOptions) runFollow(ctx context.Context, c *cluster, targets []observe.Target) []error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	connection := &follow.Connection{Changed: func(lost time.Time) { o.logs.Out.Say("%s", printer.Connection(lost)) }}
	follower := observe.NewFollower(ctx, c.Clients, connection, observe.Extent{Depth: observe.Below}, len(targets) > 1, true)
	defer follower.Stop()
	followers := logs.NewFollowers(len(targets), o.logs, o.wanted, stop)
	errs := outcome.InParallel(len(targets), func(i int) error {
		defer followers[i].End(ctx)
		return kube.Explain(targets[i].Kind, o.followTarget(ctx, follower, targets[i], followers[i]))
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return []error{cause} // the cause is the same for all objects
	}
	return errs
}

func (o *logsOptions) followTarget(ctx context.Context, from *observe.Follower, t observe.Target, f *logs.Follower) error {
	shown, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	looked := false
	return from.Follow(shown, observe.Source{Target: t, Fail: fail, Show: func(seen observe.Observation) error {
		if seen.Report.Verdict == status.Deleted {
			return nil
		}
		if !looked && len(logs.Containers(seen.Report, o.wanted)) == 0 {
			why, _ := o.none(t, seen.Report)
			o.logs.Out.Say("%s", why)
		}
		looked = true
		f.See(ctx, seen.Report) // ctx, not shown, because shown ends before the logs are drained
		return nil
	}})
}

// none returns why no container of a target is selected. wrong means that no pod has the container or the slot.
func (o *logsOptions) none(t observe.Target, r status.Report) (why string, wrong bool) {
	wider, names := o.wanted, sets.New[string]()
	wider.Container, wider.AllContainers = "", true
	for _, container := range logs.Containers(r, wider) {
		names.Insert(container.Name)
	}
	yet, choose := "", "; choose one of: "+strings.Join(sets.List(names), ", ")
	if o.follow {
		yet, choose = " yet", " yet"
	}
	switch {
	case len(r.Pods) == 0:
		return fmt.Sprintf("%s has no pods%s", t, yet), false
	case o.wanted.Container != "" && len(names) > 0:
		return fmt.Sprintf("no pod of %s has a container %q%s", t, o.wanted.Container, choose), true
	case o.wanted.Slot != "":
		return fmt.Sprintf("%s has no pod whose name ends in -%s%s", t, o.wanted.Slot, yet), true
	case t.Kind.IsPod():
		return fmt.Sprintf("%s is ready", t), false
	}
	return fmt.Sprintf("all pods of %s are ready", t), false
}
