package apiserver_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestMissingAPI checks that commands work if the server does not serve a type that only adds details to reports. They
// treat it like a type without objects.
func TestMissingAPI(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := cluster(t, deployment("web", "example.com/web:1", 2), deployment("bad", "pull", 2))
		for _, resource := range []string{"horizontalpodautoscalers", "poddisruptionbudgets", "events", "leases", "nodes", "controllerrevisions"} {
			notServed := &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
				Message: "the server could not find the requested resource",
			}}
			end := s.Fail(apiserver.On("get|list|watch", resource), apiserver.Fault{Err: notServed})
			for _, test := range []struct {
				line string
				want error
			}{
				{"status deployment/web", nil},
				{"status deployment/bad", nil},
				{"status -o json", nil},
				{"describe deployment/bad", nil},
				{"history deployment/web", nil},
				{"wait deployment/web --timeout 1m", nil},
				{"wait deployment/bad --timeout 1m", outcome.ErrFailed},
				{"scale deployment/web --by 1 --timeout 1m", nil},
				{"set env deployment/web A=" + resource + " --wait", nil},
				{"park deployment/web --timeout 1m", nil},
				{"unpark deployment/web --timeout 1m", nil},
			} {
				if _, stderr, err := run(t, s, test.line); !errors.Is(err, test.want) {
					t.Errorf("without %s: %s: got error %v, want %v; stderr %q", resource, test.line, err, test.want, stderr)
				}
			}
			end()
		}
	})
}
