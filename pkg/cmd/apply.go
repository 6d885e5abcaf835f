package cmd

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// objectsLike returns the client for the kind and namespace of obj. All kinds in the manifests have regular plurals.
func objectsLike(client dynamic.Interface, obj *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	return client.Resource(resource).Namespace(obj.GetNamespace())
}

// apply applies a manifest, after waiting until a deletion in progress completes. before is nil for a new object.
func (o *installOptions) apply(ctx context.Context, objects dynamic.ResourceInterface, obj *unstructured.Unstructured) (before, after *unstructured.Unstructured, err error) {
	before, err = objects.Get(ctx, obj.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		before, err = nil, nil
	case err != nil:
	case before.GetDeletionTimestamp() != nil:
		err, before = observe.WaitUntilGone(ctx, objects, before, o.timeout), nil
	default:
		err = o.takeOver(ctx, objects, before)
	}
	if err != nil {
		return nil, nil, err
	}
	after, err = objects.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: kinds.FieldManager, Force: true, DryRun: o.dryRun.server()})
	return before, after, err
}

// takeOver makes this program the manager of the fields that "kubectl apply" has set without --server-side.
// Otherwise, the server would keep fields that are no longer in the manifest.
func (o *installOptions) takeOver(ctx context.Context, objects dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(obj, sets.New("kubectl-client-side-apply"), kinds.FieldManager)
	if err == nil && len(patch) > 0 {
		_, err = objects.Patch(ctx, obj.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: kinds.FieldManager, DryRun: o.dryRun.server()})
	}
	if err != nil {
		return fmt.Errorf("take over the fields of %s from kubectl apply: %w", obj.GetName(), err)
	}
	return nil
}

func (o *installOptions) say(obj *unstructured.Unstructured, deed string) error {
	return printObject(o.common.streams.Out, o.print.printer, obj, o.dryRun.mark(deed))
}

// content returns an object without its status and without the metadata that the server may update on a write.
func content(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "status")
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	return obj.Object
}

// applyDeed describes what an apply did, including a change of the version in the labels.
func applyDeed(before, after *unstructured.Unstructured) string {
	if before == nil {
		return "created"
	}
	deed := "configured"
	if equality.Semantic.DeepEqual(content(before), content(after)) {
		deed = "unchanged"
	}
	was, is := before.GetLabels()[deploy.LabelVersion], after.GetLabels()[deploy.LabelVersion]
	if was == "" || was == is {
		return deed
	}
	return fmt.Sprintf("%s (was %s, is %s)", deed, was, is)
}
