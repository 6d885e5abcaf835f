package kube

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/klog/v2"
)

// User is the name under which the server knows who asks, as "kubectl auth whoami"
// shows it. managedFields name programs only, so a change that has to say who made
// it carries this name. It is "" where the server does not tell: no change fails for
// want of it.
func (c *Factory) User(ctx context.Context) string {
	client, err := clientOf(c, authenticationv1client.NewForConfig)
	if err != nil {
		return "" // the change itself will say so
	}
	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The server does not report the user name", "err", err)
		return ""
	}
	return review.Status.UserInfo.Username
}
