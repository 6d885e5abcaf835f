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
		{"quota", apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: few, requested: pods=1")), "QuotaExceeded"},
		{"rights", apierrors.NewForbidden(pods, "a", errors.New("User cannot create")), "Forbidden"},
		{"a new kind", apierrors.NewForbidden(pods, "a", errors.New(`cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Foo: no matches for kind "Foo"`)), ""},
		{"admission", apierrors.NewBadRequest("admission webhook denied the request"), "CreateRejected"},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), "CreateRejected"},
		{"wrapped", fmt.Errorf("create: %w", apierrors.NewBadRequest("no")), "CreateRejected"},
		{"conflict", apierrors.NewConflict(pods, "a", errors.New("modified")), ""},
		{"busy", apierrors.NewTooManyRequests("slow down", 1), ""},
		{"credentials", apierrors.NewUnauthorized("expired"), ""},
		{"server", apierrors.NewInternalError(errors.New("etcd")), ""},
		{"away", apierrors.NewServiceUnavailable("shutting down"), ""},
		{"connection", io.ErrUnexpectedEOF, ""},
	} {
		reason, refused := RefusalReason(test.err)
		if reason != test.want || refused != (test.want != "") {
			t.Errorf("%s: %q, %v; want %q", test.name, reason, refused, test.want)
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
		{"terminating", ofEndingNamespace("a"), true},
		{"terminating, wrapped", fmt.Errorf("create: %w", ofEndingNamespace("a")), true},
		{"gone", ofMissingNamespace("a"), true},
		{"something else is gone", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), false},
		{"another refusal", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("namespace default is being terminated, said a webhook")), false},
		{"not found, without details", &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Code: 404}}, false},
		{"connection", io.ErrUnexpectedEOF, false},
	} {
		if got := namespaceEnds(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
