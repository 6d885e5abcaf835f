package clients

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// User is the name under which the server knows who asks, as "kubectl auth whoami"
// shows it. managedFields name programs only, so a change that has to say who made
// it carries this name. It is "" where the server does not tell: no change fails for
// want of it.
func (c *Factory) User(ctx context.Context) string {
	client, err := c.Dynamic()
	if err != nil {
		return "" // the change itself will say so
	}
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview"})
	reviews := client.Resource(schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"})
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The server does not report the user name", "err", err)
		return ""
	}
	name, _, _ := unstructured.NestedString(answer.Object, "status", "userInfo", "username") // an answer of another form names nobody
	return name
}
