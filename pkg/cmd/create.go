package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// createOptions says what to create.
type createOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags
	dryRun  dryRun

	name     string
	replicas int32
	image    string
	command  []string
}

func newCreateCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &createOptions{streams: streams, print: genericclioptions.NewPrintFlags("created"), replicas: 1}
	cmd := &cobra.Command{
		Use:   "create NAME [--replicas=COUNT] [--image=IMAGE] [--dry-run=server|client|none] [-- COMMAND [args...]]",
		Short: "Create an ImoocPod",
		Long: `Create an ImoocPod: a number of identical pods.

Without --image each pod sleeps in a small busybox container that meets Pod
Security's restricted level. With --image the pods run that image and nothing
else is set, as with "kubectl create deployment". Words after -- are the
container's command.`,
		Example: `  # Three pods that sleep
  kubectl imoocpod create foo --replicas 3

  # Two pods with an image of one's own
  kubectl imoocpod create web --replicas 2 --image nginx

  # The default pod with another command
  kubectl imoocpod create nap -- sleep 60

  # A manifest to start from
  kubectl imoocpod create foo --replicas 3 --dry-run=client -o yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				o.command = args[dash:]
				args = args[:dash]
			}
			// A server is asked for longer names too, which an older CRD may have let in.
			if len(args) == 1 && len(args[0]) > v1alpha1.MaxNameLength {
				return usageErrorf(cmd, "invalid name %q: it must be no longer than %d characters", args[0], v1alpha1.MaxNameLength)
			}
			return oneName(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.image == "" && cmd.Flags().Changed("image") {
				return usageErrorf(cmd, "--image is empty: give the name of an image, or leave it out for the default")
			}
			return o.run(cmd.Context(), c)
		},
	}
	o.print.AddFlags(cmd)
	o.dryRun.addFlag(cmd)
	cmd.Flags().VarP(count{&o.replicas, 0}, "replicas", "r", "How many pods are wanted.")
	cmd.Flags().StringVar(&o.image, "image", o.image, "Image of the pods' container. Without it: busybox.")
	return cmd
}

func (o *createOptions) run(ctx context.Context, c *clients) error {
	o.dryRun.complete(o.print)
	printer, err := o.print.ToPrinter()
	if err != nil {
		return &UsageError{Command: name + " create", Err: err}
	}
	kind := replica.ImoocPod()
	namespace, given, err := c.namespace()
	if err != nil {
		return err
	}
	obj, err := o.object(kind)
	if err != nil {
		return err
	}
	if given || !o.dryRun.client() {
		obj.SetNamespace(namespace)
	}
	if !o.dryRun.client() {
		client, err := c.dynamic()
		if err != nil {
			return err
		}
		obj, err = client.Resource(kind.Resource).Namespace(namespace).Create(ctx, obj, metav1.CreateOptions{
			FieldManager: replica.FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
		})
		if err != nil {
			return explain(kind, err)
		}
	}
	return printer.PrintObj(obj, o.streams.Out) //nolint:wrapcheck // a closed stdout
}

// object is the smallest object that says what the flags say: what they leave
// out is left to the defaults of the CRD.
func (o *createOptions) object(kind replica.Kind) (*unstructured.Unstructured, error) {
	spec := map[string]any{"replicas": int64(o.replicas)}
	if template := o.template(); template != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
		if err != nil {
			return nil, fmt.Errorf("make the pod template: %w", err)
		}
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
		spec["template"] = fields
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetName(o.name)
	return obj, nil
}

// template is the pod template that the flags ask for, nil for the default.
func (o *createOptions) template() *corev1.PodTemplateSpec {
	switch {
	case o.image != "":
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: o.image, Command: o.command}},
		}}
	case len(o.command) > 0:
		template := v1alpha1.DefaultTemplate()
		template.Spec.Containers[0].Command = o.command
		return template
	}
	return nil
}
