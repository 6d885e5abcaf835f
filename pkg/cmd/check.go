package cmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

type checkOptions struct {
	common        commonOptions
	color         string
	output        *output
	allNamespaces bool
}

func newCheckCommand(common commonOptions) *cobra.Command {
	o := &checkOptions{common: common}
	cmd := &cobra.Command{
		Use:   "check [--namespace=NAMESPACE | --all-namespaces] [--output=json]",
		Short: "Check the cluster, your permissions and the controller",
		Long: `Check whether you can work in a namespace or in all of them: the server and its
version, the custom resource definitions, your permissions for each command and
for the controller, the controllers that run, and pods that a quota or admission
blocks.

The commands that fix a problem are printed below it. They may need more
permissions than you have. The exit code is 0 if no check fails. Deployments,
StatefulSets and the resources of other operators need neither these custom
resource definitions nor run-controller: if they are missing, the check is marked
as optional and does not fail.`,
		Example: `  # Check the current namespace
  kubectl imoocpod check

  # Check the permissions of another user
  kubectl imoocpod check -n team-a --as alice

  # Print the checks for a script
  kubectl imoocpod check -o json`,
	}
	addAllNamespacesFlag(cmd, &o.allNamespaces)
	o.output = addOutputFlag(cmd, "Output format. One of: (%s).", "json")
	addColorFlag(cmd, &o.color)
	return command(cmd, o.complete, o.run)
}

func (o *checkOptions) complete(args []string) error {
	return cmp.Or(noArgs("check", args), o.output.validate())
}

func (o *checkOptions) run(ctx context.Context) error {
	c, err := o.common.connect()
	if err != nil {
		return err
	}
	d := &doctor.Doctor{Clients: c.Clients, Checker: check.Checker{Namespace: c.scope(o.allNamespaces), Version: o.common.version}}
	checks, err := d.Run(ctx)
	if err != nil {
		return err
	}
	failed := problem.Count(checks, func(r check.Result) bool { return r.State == check.Failed })
	if o.output.format == "" {
		err = printer.Checks(o.common.streams.Out, checks, terminal.Style(o.common.streams.Out, o.color))
	} else {
		report := map[string]any{"apiVersion": status.ReportVersion, "kind": "CheckReport", "passed": failed == 0, "checks": checks}
		err = o.output.write(o.common.streams.Out, report, "  ")
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return err
}
