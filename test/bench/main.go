// Bench measures one part of the benchmark on the control plane of test/cluster, and
// writes its section of docs/benchmarks.md. test/bench/run starts it.
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
	"strings"
	"syscall"
	"time"
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

// run measures a part, writes its section, and returns an error if a goal was missed.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	part := flags.String("part", "commands", "what to measure: `commands`, following, loop, or limits")
	plugin := flags.String("plugin", "bin/kubectl-imoocpod", "the `program` to measure")
	source := flags.String("source", ".", "the `directory` of its source")
	document := flags.String("document", "docs/benchmarks.md", "the `file` with a section for each part")
	quick := flags.Bool("quick", false, "small numbers, which say nothing of speed: to see that it works")
	only := flags.String("only", "", "of the loop, only these `questions`, such as Wide,Nodes")
	rolloutsDir := flags.String("rollouts", "", "the `directory` of the programs of Argo Rollouts; \"\" compares with none")
	rolloutsCRDs := flags.String("rollouts-crds", "", "the `directory` of its CRDs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(ctx, *plugin, *source)
	if err != nil {
		return err
	}
	defer b.close()
	b.rollouts = rollouts{programs: *rolloutsDir, crds: *rolloutsCRDs}
	todo := fullAgenda()
	if *quick {
		todo = quickAgenda()
	}
	began := time.Now()
	var r *results
	var one report
	switch *part {
	case "commands":
		if r, err = b.measure(ctx, todo); err == nil {
			one.goals = r.goals()
		}
	case "following":
		if r, err = b.measureFollowing(ctx, todo); err == nil {
			one.goals = r.following()
		}
	case "loop":
		if r, err = b.measureLoop(ctx, todo, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })); err == nil {
			one.goals = r.loopGoals()
		}
	case "limits":
		return b.measureLimits(ctx, *quick, *document)
	default:
		err = fmt.Errorf("no part is called %q", *part)
	}
	if err != nil {
		return err
	}
	one.machine, one.took = r.machine, time.Since(began)
	if err := one.write(*part, *document); err != nil {
		return err
	}
	return missed(one.goals)
}

// say reports progress.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
