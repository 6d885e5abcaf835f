package cmd

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewed lets those pass whom the API server knows by their token and who may
// get the path, as the metrics of Kubernetes' own components do.
func reviewed(config *rest.Config, next http.Handler) (http.Handler, error) {
	tokens, err := authenticationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	access, err := authorizationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := whose(r.Context(), tokens, r.Header.Get("Authorization"))
		if err == nil && user == nil {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		allowed := false
		if err == nil {
			allowed, err = mayGet(r.Context(), access, *user, r)
		}
		switch {
		case err != nil:
			http.Error(w, "the API server could not be asked: "+err.Error(), http.StatusInternalServerError)
		case !allowed:
			http.Error(w, fmt.Sprintf("user %q may not %s %s", user.Username, strings.ToLower(r.Method), r.URL.Path), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	}), nil
}

// whose is the user of a bearer token, nil if it is nobody's.
func whose(ctx context.Context, tokens authenticationv1client.TokenReviewsGetter, authorization string) (*authenticationv1.UserInfo, error) {
	token, found := strings.CutPrefix(authorization, "Bearer ")
	if !found {
		return nil, nil
	}
	review, err := tokens.TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		return nil, err
	}
	return &review.Status.User, nil
}

func mayGet(ctx context.Context, access authorizationv1client.SubjectAccessReviewsGetter, user authenticationv1.UserInfo, r *http.Request) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
