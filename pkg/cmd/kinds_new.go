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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// kindsNewOptions says which kind to make a CRD of.
type kindsNewOptions struct {
	clients  *clients.Factory
	streams  genericiooptions.IOStreams
	print    *genericclioptions.PrintFlags
	scaffold kinds.Scaffold
	path     pathFlag
	install  bool

	crd *unstructured.Unstructured
}

func newKindsNewCommand(c *clients.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &kindsNewOptions{
		clients: c, streams: streams, print: genericclioptions.NewPrintFlags("created"),
		scaffold: kinds.Scaffold{Plan: kinds.StrategyPods, Image: "nginx"},
	}
	cmd := &cobra.Command{
		Use:                   "new NAME --group=GROUP [--plan=pods|deployment|nodes] [--replicas-path=PATH] [--image=IMAGE] [--install]",
		Short:                 "Make a CRD of a kind of your own, which \"run-controller\" reconciles",
		DisableFlagsInUseLine: true,
		Long: `Make a custom resource definition of a kind of your own, and print it. It is
complete: a schema with defaults and rules, a status, /scale, columns, and the
annotations from which "run-controller" knows how to reconcile the kind. Nothing
has to be written or compiled, and the definition is yours to edit.

NAME is the kind in CamelCase, GROUP a domain. The plan says what an object keeps:
a number of pods that it owns itself, a Deployment, or a pod on every node.

With --install the definition is created in the cluster. One that is there already
is left as it is: it is an error unless it says the same.`,
		Example: `  # A kind that has pods; "run-controller --declared-kinds" reconciles it
  kubectl imoocpod kinds new Foo --group example.com --install

  # A kind that has a Deployment and its count in another field, to be edited
  kubectl imoocpod kinds new Site --group example.com --plan deployment --replicas-path .spec.size > site.yaml

  # A kind that has a pod on every node
  kubectl imoocpod kinds new Agent --group example.com --plan nodes --image busybox -o json`,
	}
	addPrintFlags(cmd, o.print)
	cmd.Flags().StringVar(&o.scaffold.Group, "group", "", "API group of the kind, a domain.")
	addChoice(cmd, &o.scaffold.Plan, "plan", "What an object keeps. Must be %s.", kinds.Strategies()...)
	cmd.Flags().Var(&o.path, "replicas-path", "JSONPath of the field that is to hold the count. (default .spec.replicas)")
	cmd.Flags().StringVar(&o.scaffold.Image, "image", o.scaffold.Image, "Image of the pods' container where an object says no other.")
	cmd.Flags().BoolVar(&o.install, "install", false, "Create the definition in the cluster, in place of printing it.")
	return bind(cmd, o)
}

func (o *kindsNewOptions) complete(args []string) error {
	if len(args) != 1 {
		return usageErrorf("expected one NAME, that of the kind, got %d arguments", len(args))
	}
	o.scaffold.Kind, o.scaffold.ReplicasPath = args[0], o.path.path
	if !o.install && *o.print.OutputFormat == "" {
		*o.print.OutputFormat = "yaml"
	}
	return nil
}

func (o *kindsNewOptions) validate() (err error) {
	switch {
	case o.scaffold.Group == "":
		return usageErrorf("which group? give --group, a domain of yours, as in example.com")
	case o.scaffold.Plan.Uncounted() && o.path.path != nil:
		return usageErrorf("--replicas-path is for the other plans: with a pod on each node there is no count")
	case o.scaffold.Image == "":
		return usageErrorf("--image is empty: give the name of an image, or leave it out for the default")
	}
	if o.crd, err = o.scaffold.CRD(); err != nil {
		return usageErrorf("%w", err)
	}
	_, err = linePrinter(o.print)
	return err
}

// Run prints the definition, or creates it.
func (o *kindsNewOptions) Run(ctx context.Context) error {
	said := &applier{print: o.print, out: o.streams.Out}
	if !o.install {
		return said.say(o.crd, "created")
	}
	client, err := o.clients.Dynamic()
	if err != nil {
		return err
	}
	crds := client.Resource(kinds.CRDResource())
	deed := "created"
	created, err := crds.Create(ctx, o.crd, metav1.CreateOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsAlreadyExists(err) {
		deed = "unchanged"
		created, err = crds.Get(ctx, o.crd.GetName(), metav1.GetOptions{})
		if err == nil && !says(created, o.crd) {
			return fmt.Errorf("%w: %s is there already and says something else; to change it, edit it, or apply what this prints without --install", outcome.ErrRefused, o.crd.GetName())
		}
	}
	if err != nil {
		return err
	}
	if err := awaitEstablished(ctx, crds, created, time.Minute); err != nil {
		return err
	}
	if err := said.say(created, deed); err != nil {
		return err
	}
	return o.sayNext()
}

// sayNext prints the commands that reconcile the kind and make its first object.
func (o *kindsNewOptions) sayNext() error {
	crd := o.crd.GetName()
	for _, line := range []string{"Next:", "  " + programName + " run-controller --kinds " + crd, "  " + programName + " create " + crd + "/NAME"} {
		if err := escape.PrintLine(o.streams.ErrOut, "%s", line); err != nil {
			return err
		}
	}
	return nil
}

// says reports whether a definition has all that another has; it may have more.
func says(there, wanted *unstructured.Unstructured) bool {
	notes := there.GetAnnotations()
	for key, value := range wanted.GetAnnotations() {
		if notes[key] != value {
			return false
		}
	}
	return there.GetDeletionTimestamp() == nil && equality.Semantic.DeepDerivative(wanted.Object["spec"], there.Object["spec"])
}
