package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/run"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type kindsRBACOptions struct {
	common commonOptions
	print  objectOutput
	args   []string
	file   string
	// commented means that the commands for binding the roles are printed as comments.
	commented bool
}

func newKindsRBACCommand(common commonOptions) *cobra.Command {
	o := &kindsRBACOptions{common: common}
	cmd := &cobra.Command{
		Use:   "rbac (KIND | PLURAL.GROUP | --filename=FILE)",
		Short: "Print the permissions that \"run-controller\" needs for a kind",
		Long: `Print ClusterRoles with exactly the permissions that "run-controller" with
--kinds=PLURAL.GROUP needs for a kind: one role for the namespaces in which it works,
and one for cluster-scoped resources. Comments show how to bind them.

The kind is built in or declared by its CRD. The command reads the CRD from the
cluster or, with --filename, from a file.`,
		Example: `  # Print the permissions of a controller for ImoocPods
  kubectl imoocpod kinds rbac imoocpods

  # Create the roles for a kind that is not installed yet
  kubectl imoocpod kinds rbac -f foo.yaml | kubectl apply -f -`,
	}
	o.print.addFlags(cmd)
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "A file with the CRDs of the kinds, instead of those in the cluster. '-' reads standard input.")
	return command(cmd, o.complete, o.run)
}

func (o *kindsRBACOptions) complete(args []string) error {
	if len(args) > 1 || (len(args) == 1) == (o.file != "") {
		return usageErrorf("expected one KIND, or --filename with CRDs, got %d arguments", len(args))
	}
	o.args = args
	if o.commented = o.print.format() == ""; o.commented {
		*o.print.flags.OutputFormat = "yaml"
	}
	return o.print.complete()
}

func (o *kindsRBACOptions) kinds(ctx context.Context) ([]kinds.Kind, error) {
	if o.file != "" {
		declared, err := run.KindsOfFile(o.file, o.common.streams.In)
		if err != nil {
			return nil, usageErrorf("--filename %s: %w", o.file, err)
		}
		return declared, nil
	}
	c, err := o.common.factory.Connect()
	if err != nil {
		return nil, err
	}
	kind, err := c.KindNamed(ctx, o.args[0])
	if err == nil {
		kind, err = c.Finder.Declare(ctx, kind) // returns an error if the declaration is invalid
	}
	if err == nil && !kind.Reconciled() && c.Finder.Unread(kind) {
		err = fmt.Errorf("%w: no permission to read the CRD %s", outcome.ErrForbidden, kind.CRD())
	} else if err == nil && !kind.Reconciled() {
		err = fmt.Errorf("%w: run-controller does not reconcile %s: its CRD has no annotation %s", outcome.ErrRefused, kind.CRD(), kinds.AnnotationPlan)
	}
	return []kinds.Kind{kind}, err
}

func (o *kindsRBACOptions) run(ctx context.Context) error {
	kinds, err := o.kinds(ctx)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		namespaced, clusterwide := kind.Roles()
		roles := []*rbacv1.ClusterRole{&namespaced}
		if len(clusterwide.Rules) > 0 {
			roles = append(roles, &clusterwide)
		}
		if o.commented {
			if err := o.sayHowToBind(kind, namespaced.Name, clusterwide); err != nil {
				return err
			}
		}
		for _, role := range roles {
			if err := printObject(o.common.streams.Out, o.print.printer, role, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *kindsRBACOptions) sayHowToBind(kind kinds.Kind, role string, clusterwide rbacv1.ClusterRole) error {
	bind := func(what, role string) commandline.Command {
		return commandline.Kubectl("create", what, role, "--clusterrole="+role, "--serviceaccount=NAMESPACE:NAME")
	}
	commands := o.common.factory.ClusterContext()
	lines := []string{
		fmt.Sprintf("# The permissions of \"run-controller --kinds %s\". To grant them in one namespace:", kind.CRD()),
		"#   " + commands.Line(bind("rolebinding", role).In("NAMESPACE")),
		"# To grant them in all namespaces (-A):",
		"#   " + commands.Line(bind("clusterrolebinding", role)),
	}
	if len(clusterwide.Rules) > 0 {
		lines = append(lines, "# In both cases, for cluster-scoped resources:", "#   "+commands.Line(bind("clusterrolebinding", clusterwide.Name)))
	}
	return printLines(o.common.streams.Out, lines)
}
