// kubectl-imoocpod is a kubectl plugin that drives replica resources, and the
// controller that reconciles them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
)

// version is stamped in by the Makefile.
var version = "v0.0.0-dev"

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	ctx, stop := interruptible()
	root := cmd.NewRootCommand(version, streams)
	root.SetArgs(cmd.Arguments(os.Args))
	err := root.ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(report(streams.ErrOut, err, interrupted))
}

// interruptible is a context that ends with the first Ctrl-C, so that what is
// under way is finished. A second one ends the process at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, cancel
}
