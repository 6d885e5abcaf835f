package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// allowedFor and refusedFor are how long the API server is not asked again.
	// Whoever loses a right keeps what is served for so long.
	allowedFor = 2 * time.Minute
	refusedFor = 10 * time.Second
	// mostAnswers bounds how many answers are kept.
	mostAnswers = 1024
)

// answer is what the API server said of a token and a path: who that is, nil for
// nobody, and whether they may get it.
type answer struct {
	user    *authenticationv1.UserInfo
	allowed bool
}

// authorized lets those pass whom the API server knows by their token and who may
// get the path, as the metrics of Kubernetes' own components do. It asks once for
// many requests.
func authorized(config *rest.Config, next http.Handler) (http.Handler, error) {
	tokens, err := authenticationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	access, err := authorizationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	ask := func(r *http.Request, token string) (answer, error) {
		user, err := whose(r.Context(), tokens, token)
		if err != nil || user == nil {
			return answer{}, err
		}
		allowed, err := mayGet(r.Context(), access, *user, r)
		return answer{user, allowed}, err
	}
	return once(ask, clock.RealClock{}, next), nil
}

// once asks for each token and path, and keeps the answer for a while. Tokens are
// not kept, only what is hashed of them.
func once(ask func(*http.Request, string) (answer, error), clk clock.PassiveClock, next http.Handler) http.Handler {
	answers := cache.NewLRUExpireCacheWithClock(mostAnswers, clk)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		key := [...]string{fmt.Sprintf("%x", sha256.Sum256([]byte(token))), r.Method, r.URL.Path}
		kept, _ := answers.Get(key)
		got, known := kept.(answer)
		if !known {
			var err error
			if got, err = ask(r, token); err != nil {
				http.Error(w, "cannot ask the API server: "+err.Error(), http.StatusInternalServerError)
				return
			}
			lasts := refusedFor
			if got.allowed {
				lasts = allowedFor
			}
			answers.Add(key, got, lasts)
		}
		switch {
		case got.user == nil:
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		case !got.allowed:
			http.Error(w, fmt.Sprintf("user %q has no permission to %s %s", got.user.Username, strings.ToLower(r.Method), r.URL.Path), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// whose is the user of a bearer token, nil if it is nobody's.
func whose(ctx context.Context, tokens authenticationv1client.TokenReviewsGetter, token string) (*authenticationv1.UserInfo, error) {
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
