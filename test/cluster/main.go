// Command cluster runs a real Kubernetes control plane on loopback: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kwok, which
// simulates the kubelets. With --real-nodes, it also runs nodes with a kubelet
// and real containers. All programs are built from Go modules, so tests against
// a real control plane need neither a container runtime nor a cluster.
//
// The command is a module of its own, to keep its dependencies out of the go.mod of the plugin.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const usage = `Runs a Kubernetes control plane on loopback, without a container runtime.

Usage:
  cluster build [flags]               build the programs that are missing and print their directories
  cluster serve [flags]               run a control plane until stdin ends or a signal comes
  cluster run [flags] -- COMMAND ...  run a control plane for as long as COMMAND runs
  cluster up [flags]                  run a control plane in the background
  cluster down                        end the control plane that "up" started
  cluster versions                    print the versions of Kubernetes that can be built
  cluster checksums VERSION ...       print the lines of kubernetes.sum for versions of Kubernetes

Use "cluster COMMAND --help" for the flags of a command.

The programs are built once per machine, which takes some minutes, and are kept
in $` + cacheVariable + `, by default in the user's cache directory.

When it is ready, serve prints one line of JSON on stdout:

  {"kubeconfig":"...","bin":"...","dir":"...","auditLog":"..."}

From then on it reads commands from stdin, one per line, and answers each with
one line on stdout, "ok" or "error: ...":

  stop COMPONENT    end it with SIGTERM and wait until it is gone
  kill COMPONENT    end it with SIGKILL and wait until it is gone
  start COMPONENT   start it again with the same data and on the same port;
                    for etcd and kube-apiserver, wait until it is ready

COMPONENT is etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok or
a real node, which is real-0, real-1 and so on.

up prints what a shell needs to use the control plane:

  eval "$(go run . up)"
`

// exitCode is an error that makes this program exit with a code, but without a message.
type exitCode int

func (e exitCode) Error() string { return "exit code " + strconv.Itoa(int(e)) }

func main() {
	// On Linux, the kernel ends a component when the thread that started it exits. This thread
	// lives as long as this process.
	runtime.LockOSThread()
	// Without a handler, a write to a closed pipe would kill this process before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := dispatch(ctx, os.Args[1:])
	stop()

	var code exitCode
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.As(err, &code):
		os.Exit(int(code))
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	os.Exit(1)
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(`no command given, see "cluster --help"`)
	}
	switch name, args := args[0], args[1:]; name {
	case "build":
		return buildCommand(ctx, args)
	case "serve":
		return serveCommand(ctx, args)
	case "run":
		return runCommand(ctx, args)
	case "up":
		return upCommand(ctx, args)
	case "down":
		return downCommand(ctx, args)
	case "versions":
		_, err := fmt.Println(strings.Join(kubernetesVersions(), "\n"))
		return err
	case "checksums":
		return checksumsCommand(ctx, args)
	case "node", "node-inside":
		return nodeCommand(ctx, name, args)
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("unknown command %q, see \"cluster --help\"", name)
	}
}

type options struct {
	kubernetes  string
	assets      string
	nodes       int
	realNodes   int
	images      []image
	kwokConfigs []string
	// extraArgs maps a component to the arguments that follow, and can override, its default arguments.
	extraArgs map[string][]string
}

// flagSet returns the common flags of all commands that start a control plane.
// Parsing them sets the options.
func (o *options) flagSet(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("cluster "+name, flag.ContinueOnError)
	o.addBuildFlags(flags)
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of nodes that kwok plays")
	flags.IntVar(&o.realNodes, "real-nodes", 0, "`number` of nodes with containers that run, which needs Linux and root")
	flags.Func("image", "further image `NAME=DIRECTORY` for real nodes, of an OCI image layout (repeatable)", func(value string) error {
		name, dir, found := strings.Cut(value, "=")
		if !found || name == "" || dir == "" {
			return errors.New("must be NAME=DIRECTORY")
		}
		dir, err := filepath.Abs(dir)
		o.images = append(o.images, image{name, dir})
		return err
	})
	flags.Func("kwok-config", "further `file` of kwok configuration such as stages (repeatable)", func(value string) error {
		path, err := filepath.Abs(value)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return err
		}
		o.kwokConfigs = append(o.kwokConfigs, path)
		return nil
	})
	flags.Func("arg", "further `COMPONENT:--flag=value` for a component, or for the kubelet of real-0 and so on (repeatable)", func(value string) error {
		component, arg, found := strings.Cut(value, ":")
		if !found || arg == "" {
			return errors.New("must be COMPONENT:--flag=value")
		}
		if !isComponent(component) && !isRealNode(component) {
			return fmt.Errorf("unknown component %q", component)
		}
		if o.extraArgs == nil {
			o.extraArgs = map[string][]string{}
		}
		o.extraArgs[component] = append(o.extraArgs[component], arg)
		return nil
	})
	return flags
}

func (o *options) addBuildFlags(flags *flag.FlagSet) {
	flags.Func("assets", "`directory` with an etcd and a kube-apiserver to use, such as $KUBEBUILDER_ASSETS", func(value string) (err error) {
		o.assets, err = filepath.Abs(value)
		for _, name := range assets() {
			if _, statErr := os.Stat(filepath.Join(o.assets, name)); err == nil {
				err = statErr
			}
		}
		return err
	})
	flags.StringVar(&o.kubernetes, "kubernetes", os.Getenv(versionVariable), "`version` of Kubernetes, such as 1.33 (default $"+versionVariable+", or the version in go.mod)")
}

// parseAll parses the flags of a command without positional arguments.
func parseAll(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q, see %q", flags.Arg(0), flags.Name()+" --help")
	}
	return nil
}

// progress prints progress to stderr; stdout is for programs.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: "+format+"\n", args...)
}
