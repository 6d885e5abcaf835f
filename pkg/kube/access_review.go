package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// Access is the client for questions about the rights of this user.
func (c *Factory) Access() (*authorizationv1client.AuthorizationV1Client, error) {
	return clientOf(c, authorizationv1client.NewForConfig)
}

// Allowed asks the server whether this user has a right in a namespace, or in all
// if that is empty; nil if it does not say.
func Allowed(ctx context.Context, access authorizationv1client.SelfSubjectAccessReviewsGetter, right check.Right, namespace string) *bool {
	attributes := &authorizationv1.ResourceAttributes{
		Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource, Name: right.Name,
	}
	if !right.Clusterwide {
		attributes.Namespace = namespace
	}
	review, err := access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return &review.Status.Allowed
}
