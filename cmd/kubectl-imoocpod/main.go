// kubectl-imoocpod is a kubectl plugin that creates, scales, and watches resources with a replica count. It
// includes a controller for custom resources.
package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// version is set by the linker flag -X.
var version = "v0.0.0-dev"

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	root := cmd.NewRootCommand(version, streams)
	if err := logTo(escape.Writer(streams.ErrOut)); err != nil {
		os.Exit(report(streams.ErrOut, err, root, false))
	}
	pingOften()
	ctx, stop := interruptible()
	args := cmd.Arguments(os.Args)
	root.SetArgs(args)
	if verb, _, err := root.Find(args); err == nil && verb.Name() != "run-controller" {
		logErrorsAtV1()
		klog.SetOutput(verbose{escape.Writer(streams.ErrOut)})
	}
	command, err := root.ExecuteContextC(ctx)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(report(streams.ErrOut, err, command, interrupted))
}

// pingOften makes client-go detect a lost connection after 6 seconds instead of 45. client-go reads both
// timeouts only from environment variables (k8s.io/apimachinery/pkg/util/net, configureHTTP2Transport).
func pingOften() {
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "3") // fails only if the name is invalid
		}
	}
}

// logTo sends the log of client-go only to w. w must escape text, because the log can contain text from a server.
func logTo(w io.Writer) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(w)
	return cmp.Or(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL"), flags.Set("one_output", "true"))
}

// logErrorsAtV1 makes client-go log errors at level 1, because discovery also returns the errors that it logs.
func logErrorsAtV1() {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(ctx context.Context, err error, message string, about ...any) {
		klog.FromContext(ctx).V(1).Info(message, append(about, "err", err)...)
	}}
}

// verbose discards log output below -v=1, because client-go also logs errors that it returns or recovers from.
type verbose struct{ w io.Writer }

func (v verbose) Write(p []byte) (int, error) {
	if !klog.V(1).Enabled() {
		return len(p), nil
	}
	return v.w.Write(p)
}

// sameInterrupt is the time after the first signal during which more signals count as the same interrupt. For example,
// timeout(1) sends a signal to its child and another to the child's process group.
const sameInterrupt = 100 * time.Millisecond

// interruptible returns a context. The first signal, such as Ctrl-C, cancels the context, but lets the command complete
// writes in flight. A signal that arrives more than sameInterrupt later ends the process immediately.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup makes the program ignore it
		signal.Notify(signals, syscall.SIGHUP) // sent when the terminal is closed
	}
	go func() {
		<-signals
		cancel()
		for first := time.Now(); time.Since(first) < sameInterrupt; {
			<-signals
		}
		os.Exit(exitInterrupted)
	}()
	return ctx, cancel
}
