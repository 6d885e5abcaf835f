// Bench measures one part of the benchmark on the control plane of test/cluster, and writes the
// section of this part in docs/benchmarks.md. test/bench/run starts Bench.
//
// Bench itself runs the built-in controllers that it measures, because it sets their rate limits.
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

// run measures a part and writes its section. A missed goal is an error, unless the goal is lenient.
func run(ctx context.Context, args []string) error {
	var b bench
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	part := flags.String("part", "commands", "what to measure: `commands`, following, loop, or limits")
	plugin := flags.String("plugin", "bin/kubectl-imoocpod", "the `program` to measure")
	flags.StringVar(&b.source, "source", ".", "the `directory` of its source")
	document := flags.String("document", "docs/benchmarks.md", "the `file` with a section for each part")
	flags.BoolVar(&b.quick, "quick", false, "measure small numbers, only to see that the benchmark works")
	only := flags.String("only", "", "only these `questions`, such as Wide,Nodes")
	flags.StringVar(&b.rollouts.programs, "rollouts", "",
		"the `directory` of the programs of Argo Rollouts; \"\" compares with none")
	flags.StringVar(&b.rollouts.crds, "rollouts-crds", "", "the `directory` of its CRDs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return attempt(func() {
		defer b.close()
		b.prepare(ctx, *plugin)
		if *part == "limits" {
			b.measureLimits(ctx, *document)
			return
		}
		b.answer(ctx, *part, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }), *document)
	})
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
