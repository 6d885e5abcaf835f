package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type kindsNewOptions struct {
	common   commonOptions
	print    objectOutput
	scaffold kinds.Scaffold
	install  bool

	crd *unstructured.Unstructured
}

func newKindsNewCommand(common commonOptions) *cobra.Command {
	o := &kindsNewOptions{
		common: common, scaffold: kinds.Scaffold{Plan: kinds.StrategyPods, Image: "nginx"},
	}
	cmd := &cobra.Command{
		Use:   "new NAME --group=GROUP [--plan=pods|deployment|nodes] [--replicas-path=PATH] [--image=IMAGE] [--install]",
		Short: "Create a CRD for your own kind, which \"run-controller\" reconciles",
		Long: `Print a custom resource definition for your own kind. It is complete: a schema with
defaults and rules, a status, /scale, columns, and the annotations that tell
"run-controller" how to reconcile the kind. You do not have to write or compile
anything, and you can edit the definition.

NAME is the kind in CamelCase and GROUP is a domain. The plan decides what an object
manages: a number of pods, a Deployment, or one pod per node.

With --install, the command creates the definition in the cluster. It never changes
an existing definition: one with different content is an error.`,
		Example: `  # Create a kind that manages pods; "run-controller --declared-kinds" reconciles it
  kubectl imoocpod kinds new Foo --group example.com --install

  # Write a kind that manages a Deployment, with another replica field, to a file
  kubectl imoocpod kinds new Site --group example.com --plan deployment --replicas-path .spec.size > site.yaml

  # Print a kind that manages one pod per node
  kubectl imoocpod kinds new Agent --group example.com --plan nodes --image busybox -o json`,
	}
	o.print.addFlags(cmd)
	cmd.Flags().StringVar(&o.scaffold.Group, "group", "", "API group of the kind, a domain.")
	addChoice(cmd, &o.scaffold.Plan, "plan", "What an object manages. Must be %s.", kinds.Strategies()...)
	addReplicasPathFlag(cmd, &o.scaffold.ReplicasPath)
	cmd.Flags().Var(imageFlag(&o.scaffold.Image), "image", "Image of the container.")
	cmd.Flags().BoolVar(&o.install, "install", false, "Create the definition in the cluster instead of printing it.")
	return command(cmd, o.complete, o.run)
}

func (o *kindsNewOptions) complete(args []string) (err error) {
	if len(args) != 1 {
		return usageErrorf("expected one NAME, got %d arguments", len(args))
	}
	o.scaffold.Kind = args[0]
	if !o.install && o.print.format() == "" {
		*o.print.flags.OutputFormat = "yaml"
	}
	switch {
	case o.scaffold.Group == "":
		return usageErrorf("--group is required, such as example.com")
	case o.scaffold.Plan.WithoutReplicas() && o.scaffold.ReplicasPath != nil:
		return usageErrorf("--replicas-path cannot be used with --plan=nodes, which has no replica count")
	}
	if o.crd, err = o.scaffold.CRD(); err != nil {
		return usageErrorf("%w", err)
	}
	return o.print.complete()
}

func (o *kindsNewOptions) run(ctx context.Context) error {
	if !o.install {
		return printObject(o.common.streams.Out, o.print.printer, o.crd, "created")
	}
	c, err := o.common.factory.Connect()
	if err != nil {
		return err
	}
	crds := c.Dynamic.Resource(kinds.CRDResource())
	send := func() (*unstructured.Unstructured, error) {
		return crds.Create(ctx, o.crd, metav1.CreateOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict})
	}
	deed := "created"
	created, err := send()
	if apierrors.IsAlreadyExists(err) {
		created, err = crds.Get(ctx, o.crd.GetName(), metav1.GetOptions{})
		switch {
		case err != nil: // returned below
		case created.GetDeletionTimestamp() != nil:
			if err := observe.WaitUntilGone(ctx, crds, created, time.Minute); err != nil {
				return err
			}
			created, err = send()
		case says(created, o.crd):
			deed = "unchanged"
		default:
			return fmt.Errorf("%w: %s already exists with different content; edit it, or apply the output of this command without --install", outcome.ErrRefused, o.crd.GetName())
		}
	}
	if err != nil {
		return err
	}
	if err := awaitEstablished(ctx, crds, created, time.Minute); err != nil {
		return err
	}
	if err := printObject(o.common.streams.Out, o.print.printer, created, deed); err != nil {
		return err
	}
	reconcile := commandline.Plugin("run-controller", "--kinds", o.crd.GetName())
	create := commandline.Plugin("create", o.crd.GetName()+"/NAME")
	return printLines(o.common.streams.ErrOut, []string{"Next:", "  " + o.common.line(reconcile), "  " + o.common.line(create)})
}

// says reports whether a CRD has at least the wanted annotations and spec.
func says(there, wanted *unstructured.Unstructured) bool {
	return equality.Semantic.DeepDerivative(wanted.GetAnnotations(), there.GetAnnotations()) &&
		equality.Semantic.DeepDerivative(wanted.Object["spec"], there.Object["spec"])
}
