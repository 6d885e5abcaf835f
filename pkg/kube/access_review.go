package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Access returns the client for questions about the rights of this user.
func (c *Factory) Access() (*authorizationv1client.AuthorizationV1Client, error) {
	return clientOf(c, authorizationv1client.NewForConfig)
}

// Allowed asks the server whether this user has a right. It returns nil if the server does
// not say.
func Allowed(ctx context.Context, access authorizationv1client.SelfSubjectAccessReviewsGetter, right authorizationv1.ResourceAttributes) *bool {
	review, err := access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return &review.Status.Allowed
}
