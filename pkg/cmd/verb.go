package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type commonOptions struct {
	factory *kube.Factory
	streams genericiooptions.IOStreams
	version string
}

// cluster holds the clients of a command, and the namespace in which the command acts.
type cluster struct {
	commonOptions
	*kube.Clients
	// given means that a flag names the namespace.
	namespace string
	given     bool
}

// offline returns a cluster without clients. It succeeds even if the flags and the kubeconfig name no server.
func (o *commonOptions) offline() (c *cluster, err error) {
	c = &cluster{commonOptions: *o, Clients: &kube.Clients{Factory: o.factory, Finder: &discover.Finder{}}}
	c.namespace, c.given, err = o.factory.Namespace()
	return c, err
}

// connect returns the cluster from the flags or the kubeconfig. It sends no requests.
func (o *commonOptions) connect() (*cluster, error) {
	c, err := o.offline()
	if err == nil {
		c.Clients, err = o.factory.Connect()
	}
	return c, err
}

// printErrf writes a line to standard error. It ignores errors, which must not turn a completed change into a failure.
func (o *commonOptions) printErrf(format string, args ...any) {
	_ = escape.PrintLine(o.streams.ErrOut, format, args...)
}

// line formats a command to paste, with the flags that select the same cluster and user.
func (o *commonOptions) line(cmd commandline.Command) string {
	return o.factory.CommandContext().Line(cmd)
}

// commandOn returns the command that runs a verb, such as "scale" or "set image", on a target, to print in a hint.
// words contains its flags.
func commandOn(verb string, t *observe.Target, words ...string) commandline.Command {
	argument := t.Kind.CRD() + "/" + t.Name
	if t.Kind.Shipped() && t.Kind.Singular == "imoocpod" {
		argument = t.Name
	}
	return commandline.Plugin(strings.Fields(verb)...).With(argument).With(words...).In(t.Namespace)
}

// command makes cmd run a verb, and returns cmd. complete stores the arguments, sends no requests, and
// returns an error if the arguments or the flags are invalid.
func command(cmd *cobra.Command, complete func(args []string) error, run func(context.Context) error) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error { return cmp.Or(takeTemplate(cmd), complete(args)) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }
	return cmd
}

// command makes cmd run a verb that acts on targets, and returns cmd.
func (f *targetFlags) command(cmd *cobra.Command, common commonOptions, complete func(args []string) error, run func(context.Context, *cluster) error) *cobra.Command {
	return command(cmd, complete, func(ctx context.Context) error {
		c, err := common.connect()
		if err != nil {
			return err
		}
		if err = run(ctx, c); f.optional && errors.Is(err, errNothingFound) {
			return f.sayNothingFound(ctx, c)
		}
		return f.explain(ctx, c, err)
	})
}

// explain adds advice to an error about a missing object: that its namespace does not exist, or how to name
// an object of another type. If a bare NAME is a type, it returns a usage error instead.
func (f *targetFlags) explain(ctx context.Context, c *cluster, err error) error {
	if several, is := errors.AsType[outcome.Errors](err); is {
		last := len(several) - 1
		several[last] = f.explain(ctx, c, several[last])
		return err
	}
	if shipped := kinds.ImoocPod(); f.bareName() != "" && apierrors.IsForbidden(err) && !c.Serves(shipped) {
		err = &outcome.NotServedError{CRD: shipped.CRD(), Shipped: true, Err: err}
	}
	absent, _ := kube.Missing(err)
	if (kube.NotFound(err) || noImoocPod(err)) && absent.Resource != "namespaces" && c.LacksNamespace(ctx, c.namespace) {
		return outcome.WithAdvice(err, fmt.Sprintf("there is no namespace %q", c.namespace))
	}
	name := f.bareName()
	if name == "" || !noImoocPod(err) && !apierrors.IsForbidden(err) {
		return err
	}
	if kind, unknown := c.KindNamed(ctx, name); unknown == nil && !kind.Clusterwide {
		return usageErrorf("%s is a type: name an object, or pass --all", kind.Singular)
	}
	if !noImoocPod(err) {
		return err
	}
	// Users who mean another type do not need the hint to install the CRD.
	if others := c.elsewhere(ctx, name); len(others) > 0 {
		return outcome.WithAdvice(outcome.WithoutHints(err), "a NAME without a type is an ImoocPod; use "+strings.Join(others, " or "))
	}
	return outcome.WithAdvice(err, "a NAME without a type is an ImoocPod; for another type, use TYPE/NAME, such as deployment/"+name)
}

// noImoocPod reports whether an error means that there is no such ImoocPod, or no CRD for it.
func noImoocPod(err error) bool {
	if unserved, is := errors.AsType[*outcome.NotServedError](err); is {
		return unserved.CRD == kinds.ImoocPod().CRD()
	}
	absent, _ := kube.Missing(err)
	return absent == kinds.ImoocPod().Resource.GroupResource()
}

func noArgs(verb string, args []string) error {
	if len(args) > 0 {
		return usageErrorf("%s %s takes no arguments, got %q", programName, verb, args[0])
	}
	return nil
}

// usageErrorf formats a usage error. With such an error, main refers the user to the help of the command.
func usageErrorf(format string, args ...any) error {
	return &outcome.UsageError{Err: fmt.Errorf(format, args...)}
}
