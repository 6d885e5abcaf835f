package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// someone is the name of the user if a request does not name one.
const someone = "tester"

// Forbid makes the server refuse matching requests. Access reviews report them as
// denied.
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

// Outside matches the resource requests that no rule allows. Pass the result to Forbid to limit all
// users to these rules.
func Outside(rules ...rbacv1.PolicyRule) Match {
	has := func(list []string, one string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, one)
	}
	return func(r Request) bool {
		return r.Resource != "" && !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return has(rule.Verbs, r.Verb) && has(rule.APIGroups, r.Group) && has(rule.Resources, r.target()) &&
				(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
		})
	}
}

// forbidden reports whether the server refuses a request because of Forbid. Access reviews are
// always allowed.
func (s *Server) forbidden(q Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.Resource != "" && reviewed(q) == "" && slices.ContainsFunc(s.forbids, func(match Match) bool { return match(q) })
}

func forbid(q Request) error {
	user := q.User
	if user == "" {
		user = someone
	}
	where := "at the cluster scope"
	if q.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", q.Namespace)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: q.Group, Resource: q.Resource}, q.Name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", user, q.Verb, q.target(), q.Group, where)) //nolint:staticcheck // these are the words of the API
}

// reviewed returns the kind of the access review that a request creates, or "" for
// other requests.
func reviewed(q Request) string {
	if q.Verb != "create" {
		return ""
	}
	return map[string]string{
		"authorization.k8s.io/selfsubjectaccessreviews": "SelfSubjectAccessReview",
		"authorization.k8s.io/selfsubjectrulesreviews":  "SelfSubjectRulesReview",
		"authentication.k8s.io/selfsubjectreviews":      "SelfSubjectReview",
	}[q.Group+"/"+q.Resource]
}

// review answers an access review. It returns false for other requests.
func (s *Server) review(q Request) (answer any, err error, is bool) { //nolint:revive // the error goes with the answer
	kind := reviewed(q)
	if kind == "" {
		return nil, nil, false
	}
	body, err := decode(q.ContentType, q.Body)
	if err != nil {
		return nil, err, true
	}
	body.SetAPIVersion(q.Group + "/" + q.Version)
	body.SetKind(kind)
	switch kind {
	case "SelfSubjectAccessReview":
		var review authorizationv1.SelfSubjectAccessReview
		text, err := json.Marshal(body.Object)
		if err == nil {
			err = json.Unmarshal(text, &review)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error()), true
		}
		asked := Request{User: q.User}
		if a := review.Spec.ResourceAttributes; a != nil {
			asked.Verb, asked.Group, asked.Version, asked.Resource, asked.Subresource, asked.Namespace, asked.Name = a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name
		}
		review.Status.Allowed = !s.forbidden(asked)
		return review, nil, true
	case "SelfSubjectRulesReview":
		body.Object["status"] = map[string]any{"incomplete": true, "resourceRules": []any{}, "nonResourceRules": []any{}}
	default:
		user := authenticationv1.UserInfo{Username: q.User}
		if user.Username == "" {
			user.Username = someone
		}
		body.Object["status"] = map[string]any{"userInfo": user}
	}
	return body.Object, nil, true
}
