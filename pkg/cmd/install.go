package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// crdResource is the resource type of CRDs themselves.
func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// clientSideManager is the field manager of a plain "kubectl apply".
const clientSideManager = "kubectl-client-side-apply"

// installOptions says how to install.
type installOptions struct {
	streams genericiooptions.IOStreams
	timeout time.Duration
}

func newInstallCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &installOptions{streams: streams, timeout: time.Minute}
	cmd := &cobra.Command{
		Use:   "install [--timeout=duration]",
		Short: "Install the custom resource definitions",
		Long: `Install the custom resource definitions that this program carries, and wait until
the server serves them. Doing it again brings them up to date; objects are kept.`,
		Example: `  # Install or update the CRDs
  kubectl imoocpod install`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.timeout <= 0 {
				return usageErrorf(cmd, "--timeout must be more than 0, not %s", o.timeout)
			}
			return o.run(cmd.Context(), c)
		},
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", o.timeout, "How long to wait for each definition to be served.")
	return cmd
}

func (o *installOptions) run(ctx context.Context, c *clients) error {
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	crds, err := deploy.CRDs()
	if err != nil {
		return err
	}
	// All are sent before the first is waited for: some servers take seconds for each.
	var sent []sentCRD
	for _, crd := range crds {
		var one sentCRD
		if one, err = o.send(ctx, client.Resource(crdResource()), crd); err != nil {
			break
		}
		sent = append(sent, one)
	}
	errs := []error{err}
	for _, crd := range sent {
		errs = append(errs, o.await(ctx, client.Resource(crdResource()), crd))
	}
	return together(errs)
}

// sentCRD is a definition that the server has, and may not serve yet.
type sentCRD struct {
	applied *unstructured.Unstructured
	// deed is what the apply did: created, configured or unchanged.
	deed string
}

func (o *installOptions) send(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) (sentCRD, error) {
	crdName := crd.GetName()
	present, err := client.Get(ctx, crdName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		present = nil
	case err != nil:
		return sentCRD{}, err
	case present.GetDeletionTimestamp() != nil:
		if err := awaitGone(ctx, client, present, o.timeout); err != nil {
			return sentCRD{}, err
		}
		present = nil
	}
	if present != nil {
		if err := takeOver(ctx, client, present); err != nil {
			return sentCRD{}, err
		}
	}
	applied, err := client.Apply(ctx, crdName, crd, metav1.ApplyOptions{FieldManager: replica.FieldManager, Force: true})
	if err != nil {
		return sentCRD{}, err
	}
	return sentCRD{applied: applied, deed: applyDeed(present, applied)}, nil
}

// await waits until the server serves a definition, and says what was done.
func (o *installOptions) await(ctx context.Context, client dynamic.ResourceInterface, crd sentCRD) error {
	crdName, version := crd.applied.GetName(), crd.applied.GetResourceVersion()
	if err := awaitObject(ctx, client, crdName, o.timeout, func(obj *unstructured.Unstructured) (bool, error) {
		return obj != nil && atLeast(obj, version) && established(obj), nil
	}); err != nil {
		return fmt.Errorf("wait for %s to be established: %w", crdName, err)
	}
	_, err := fmt.Fprintf(o.streams.Out, "customresourcedefinition.apiextensions.k8s.io/%s %s\n", crdName, crd.deed)
	return err
}

// applyDeed is the word for what an apply did.
func applyDeed(before, after *unstructured.Unstructured) string {
	switch {
	case before == nil:
		return "created"
	case before.GetGeneration() == after.GetGeneration():
		return "unchanged"
	}
	return "configured"
}

// takeOver makes the fields that an earlier client-side apply set ours, so that
// those which a new version no longer has are removed.
func takeOver(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(crd, sets.New(clientSideManager), replica.FieldManager)
	if err != nil {
		return fmt.Errorf("take %s over from an earlier kubectl apply: %w", crd.GetName(), err)
	}
	if len(patch) == 0 {
		return nil
	}
	if _, err := client.Patch(ctx, crd.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: replica.FieldManager}); err != nil {
		return fmt.Errorf("take %s over from an earlier kubectl apply: %w", crd.GetName(), err)
	}
	return nil
}

// established says whether the server serves the resource type of a CRD.
func established(crd *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" {
			return c["status"] == "True"
		}
	}
	return false
}
