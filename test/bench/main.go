// Bench compares the loop and the verbs with their Kubernetes equivalents, and
// writes docs/benchmarks.md with its pictures. "make bench" runs it under the
// launcher of test/cluster, whose control plane it uses:
//
//	cluster run --arg 'kube-controller-manager:--controllers=*,-replicaset-controller' -- \
//	    bench -plugin kubectl-imoocpod -source . -out docs
//
// ReplicaSets are reconciled by separate controller managers, with configurable
// rate limits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == timeVerb {
		os.Exit(timeCommand(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures, and writes the report.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	plugin := flags.String("plugin", "bin/kubectl-imoocpod", "the `program` to measure")
	source := flags.String("source", ".", "the `directory` of its source")
	out := flags.String("out", "docs", "the `directory` to write the report to")
	quick := flags.Bool("quick", false, "small numbers, which say nothing of speed: to see that it works")
	limits := flags.Bool("limits", false, "go to the limits instead, and write what that takes into operating.md")
	following := flags.Bool("following", false, "measure commands that follow objects instead")
	loop := flags.Bool("loop", false, "measure what else a loop can be bad at instead")
	parts := flags.String("parts", "", "of that, only these `parts`, such as Wide,Nodes")
	example := flags.String("example", "bin/example", "for -loop, the `program` of test/bench/example")
	rolloutsDir := flags.String("rollouts", "", "for -following, the `directory` of the programs of Argo Rollouts; \"\" compares with none")
	rolloutsCRDs := flags.String("rollouts-crds", "", "the `directory` of its CRDs")
	stern := flags.String("logs-beside", "", "compare how logs are followed instead, beside this `program`, which is stern")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *stern != "" {
		return measureLogs(ctx, *plugin, *stern, *quick)
	}
	b, err := newBench(ctx, *plugin, *source)
	if err != nil {
		return err
	}
	defer b.close()
	b.example, b.rollouts = *example, rollouts{programs: *rolloutsDir, crds: *rolloutsCRDs}
	if *limits {
		return b.measureLimits(ctx, *quick, filepath.Join(*out, "operating.md"))
	}
	todo := fullAgenda()
	if *quick {
		todo = quickAgenda()
	}
	if *following {
		results, err := b.measureFollowing(ctx, todo)
		if err != nil {
			return err
		}
		return results.writeFollowing(filepath.Join(*out, "benchmarks-following.md"))
	}
	if *loop {
		results, err := b.measureLoop(ctx, todo, strings.FieldsFunc(*parts, func(r rune) bool { return r == ',' }))
		if err != nil {
			return err
		}
		say("it all took %.0f s", results.took.Seconds())
		if err := results.writeLoop(filepath.Join(*out, "benchmarks-loop.md")); err != nil {
			return err
		}
		return missed(results.loopGoals())
	}
	results, err := b.measure(ctx, todo)
	if err != nil {
		return err
	}
	if err := results.write(*out); err != nil {
		return err
	}
	return missed(results.goals())
}

// say reports progress.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
