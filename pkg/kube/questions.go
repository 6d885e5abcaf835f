package kube

import (
	"context"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/klog/v2"
)

// ServerVersion returns the version of the server.
func (c *Factory) ServerVersion(ctx context.Context) (*version.Info, error) {
	client, err := c.Core()
	if err != nil {
		return nil, err
	}
	body, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	info := &version.Info{}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, fmt.Errorf("read the server's version: %w", err)
	}
	return info, nil
}

// User returns the name of the user, like "kubectl auth whoami". Changes record this name, because
// managedFields contain only names of programs. If the request fails, User returns "", so that the
// change can be made without a name.
func (c *Factory) User(ctx context.Context) string {
	client, err := clientOf(c, authenticationv1client.NewForConfig)
	if err != nil {
		return "" // the change will fail with the same error
	}
	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The server does not report the user name", "err", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// Access returns the client for access reviews, which check the permissions of the user.
func (c *Factory) Access() (*authorizationv1client.AuthorizationV1Client, error) {
	return clientOf(c, authorizationv1client.NewForConfig)
}

// Allowed reports whether the user has a permission. If the review fails, it returns nil.
func Allowed(ctx context.Context, access authorizationv1client.SelfSubjectAccessReviewsGetter, right authorizationv1.ResourceAttributes) *bool {
	review, err := access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return &review.Status.Allowed
}
