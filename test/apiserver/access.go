package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// someone is the user name that the server assumes for requests without a user.
const someone = "tester"

// Forbid makes the server reject matching requests. Access reviews report them as denied.
func (s *Server) Forbid(match Match) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbids = append(s.forbids, match)
}

// Permit removes all restrictions that Forbid added.
func (s *Server) Permit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbids = nil
}

// forbidden reports whether the server refuses a request because of Forbid. Reviews and requests without a resource,
// such as discovery, are always allowed.
func (s *Server) forbidden(r Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.Resource != "" && !isReview(r) && slices.ContainsFunc(s.forbids, func(match Match) bool { return match(r) })
}

func isReview(r Request) bool { return strings.HasSuffix(r.Resource, "reviews") }

func forbid(r Request) error {
	where := "at the cluster scope"
	if r.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", r.Namespace)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", cmp.Or(r.User, someone), r.Verb, r.target(), r.Group, where)) //nolint:staticcheck // the API uses these words
}

// review responds to an access review or a SelfSubjectReview.
func (s *Server) review(r Request) (any, error) {
	body, err := r.object()
	if err != nil {
		return nil, err
	}
	if body.GetKind() == "SelfSubjectReview" {
		user := authenticationv1.UserInfo{Username: cmp.Or(r.User, someone)}
		body.Object["status"] = map[string]any{"userInfo": user}
		return body.Object, nil
	}
	var review authorizationv1.SelfSubjectAccessReview
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body.Object, &review); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	asked := Request{User: r.User}
	if a := review.Spec.ResourceAttributes; a != nil {
		asked.Verb, asked.Group, asked.Version, asked.Namespace, asked.Name = a.Verb, a.Group, a.Version, a.Namespace, a.Name
		asked.Resource, asked.Subresource = a.Resource, a.Subresource
	}
	body.Object["status"] = map[string]any{"allowed": !s.forbidden(asked)}
	return body.Object, nil
}
