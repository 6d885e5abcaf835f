package strategy

import (
	"errors"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusalReason(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		name string
		err  error
		want string // "" if the error is worth an early retry
	}{
		{"exceeded quota", apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: few, requested: pods=1")), "QuotaExceeded"},
		{"no permission", apierrors.NewForbidden(pods, "a", errors.New("User cannot create")), "Forbidden"},
		{"a new kind", apierrors.NewForbidden(pods, "a", errors.New(`cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Foo: no matches for kind "Foo"`)), ""},
		{"rejected by a webhook", apierrors.NewBadRequest("admission webhook denied the request"), "CreateRejected"},
		{"invalid pod", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), "CreateRejected"},
		{"wrapped error", fmt.Errorf("create: %w", apierrors.NewBadRequest("no")), "CreateRejected"},
		{"conflict", apierrors.NewConflict(pods, "a", errors.New("modified")), ""},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), ""},
		{"expired credentials", apierrors.NewUnauthorized("expired"), ""},
		{"server error", apierrors.NewInternalError(errors.New("etcd")), ""},
		{"server is shutting down", apierrors.NewServiceUnavailable("shutting down"), ""},
		{"broken connection", io.ErrUnexpectedEOF, ""},
	} {
		reason, refused := RefusalReason(test.err)
		if reason != test.want || refused != (test.want != "") {
			t.Errorf("%s: RefusalReason = %q, %v; want %q", test.name, reason, refused, test.want)
		}
	}
}

// ofEndingNamespace returns the server's response to a create in a terminating namespace.
func ofEndingNamespace(name string) *apierrors.StatusError {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, errors.New("unable to create new content in namespace default because it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace default is being terminated", Field: "metadata.namespace",
	})
	return err
}

// ofMissingNamespace returns the server's response to a create in a missing namespace.
func ofMissingNamespace(string) *apierrors.StatusError {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default")
}

func TestNamespaceEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"terminating namespace", ofEndingNamespace("a"), true},
		{"terminating namespace, wrapped error", fmt.Errorf("create: %w", ofEndingNamespace("a")), true},
		{"missing namespace", ofMissingNamespace("a"), true},
		{"missing pod", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), false},
		{"webhook denial", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("namespace default is being terminated, said a webhook")), false},
		{"not found, without details", &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Code: 404}}, false},
		{"broken connection", io.ErrUnexpectedEOF, false},
	} {
		if got := namespaceEnds(test.err); got != test.want {
			t.Errorf("%s: namespaceEnds = %v, want %v", test.name, got, test.want)
		}
	}
}
