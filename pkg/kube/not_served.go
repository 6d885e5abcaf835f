package kube

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Missing returns the resource and the name in a NotFound error. For any other error, it returns empty values.
func Missing(err error) (resource schema.GroupResource, name string) {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return resource, ""
	}
	details := status.Status().Details
	return schema.GroupResource{Group: details.Group, Resource: details.Kind}, details.Name
}

// NotServed reports whether an error means that the server lacks the resource type, and not only the object.
func NotServed(err error) bool {
	_, name := Missing(err)
	return apierrors.IsNotFound(err) && name == ""
}

// NotFound reports whether an error means that the server has the type but not the object.
func NotFound(err error) bool { return apierrors.IsNotFound(err) && !NotServed(err) }

// Explain converts an error to a NotServedError if the server does not serve the kind. Other errors are unchanged.
func Explain(kind kinds.Kind, err error) error {
	if NotServed(err) {
		return &outcome.NotServedError{CRD: kind.CRD(), Shipped: kind.Shipped(), Err: err}
	}
	return err
}

// unknownType is the prefix of resource.Builder's error for an unknown type.
const unknownType = "the server doesn't have a resource type "

// ExplainType adds the name of the missing CRD to an error about a missing type that ships with this program. The
// error is from resource.Builder or, if the type is still in the discovery cache, from the server.
func ExplainType(err error) error {
	if word, is := strings.CutPrefix(err.Error(), unknownType); is {
		word = strings.NewReplacer(`" in group "`, ".", `"`, "").Replace(word)
		return missingType(word, &outcome.UnknownTypeError{Type: word})
	}
	if !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return err
	}
	resource, _ := Missing(err)
	return missingType(resource.String(), err)
}

// missingType returns err, wrapped in a NotServedError if the missing type ships with this program.
func missingType(word string, err error) error {
	for _, kind := range kinds.Shipped() {
		if slices.Contains(TypeNames(kind), word) {
			return &outcome.NotServedError{CRD: kind.CRD(), Shipped: true, Err: err}
		}
	}
	return err
}

// TypeNames returns the singular and plural of a type, both without and with the group.
func TypeNames(kind kinds.Kind) []string {
	return []string{kind.Singular, kind.Resource.Resource, kind.String(), kind.CRD()}
}
