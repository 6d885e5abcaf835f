package clients

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Allowed asks the server whether this user has a right in a namespace, or in all
// if that is empty; nil if it does not say.
func Allowed(ctx context.Context, client dynamic.Interface, right status.Right, namespace string) *bool {
	attributes := map[string]any{
		"verb": right.Verb, "group": right.Group, "resource": right.Resource, "subresource": right.Subresource, "name": right.Name,
	}
	if !right.Clusterwide {
		attributes["namespace"] = namespace
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}
	reviews := client.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"})
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	allowed, found, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	if err != nil || !found {
		return nil
	}
	return &allowed
}
