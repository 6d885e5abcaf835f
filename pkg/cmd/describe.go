package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

func newDescribeCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show details of an ImoocPod, its pods and its events",
		Example: `  # All that is known of an ImoocPod
  kubectl imoocpod describe foo`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return describe(cmd.Context(), c, streams, args[0])
		},
	}
}

func describe(ctx context.Context, c *clients, streams genericiooptions.IOStreams, objectName string) error {
	kind := replica.ImoocPod()
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	core, err := c.core()
	if err != nil {
		return err
	}
	obj, err := client.Resource(kind.Resource).Namespace(namespace).Get(ctx, objectName, metav1.GetOptions{})
	if err != nil {
		return explain(kind, err)
	}
	facts, err := kind.Facts(obj)
	if err != nil {
		return err //nolint:wrapcheck // it names the object
	}
	pods, err := ownedPods(ctx, core, namespace, facts)
	if err != nil {
		return err
	}
	template, err := replica.Template(obj)
	if err != nil {
		return err //nolint:wrapcheck // it says what for
	}
	events, err := core.Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(facts.UID)).String(),
	})
	if err != nil {
		return err //nolint:wrapcheck // the server names the resource
	}
	//nolint:wrapcheck // a closed stdout
	return printer.Describe(streams.Out, printer.Description{
		Report:      status.NewReport(facts, pods),
		APIVersion:  obj.GetAPIVersion(),
		Kind:        obj.GetKind(),
		Labels:      obj.GetLabels(),
		Annotations: obj.GetAnnotations(),
		Template:    template,
		Events:      events.Items,
	}, time.Now())
}

// ownedPods lists the pods that carry the identity label of an object. Which of
// them it owns, their controller references say.
func ownedPods(ctx context.Context, core corev1client.CoreV1Interface, namespace string, o status.Object) ([]corev1.Pod, error) {
	pods, err := core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelOwner + "=" + string(o.UID)})
	if err != nil {
		return nil, err //nolint:wrapcheck // the server names the resource
	}
	return pods.Items, nil
}
