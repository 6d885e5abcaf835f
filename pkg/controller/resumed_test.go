package controller

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// failFirstReads makes the first read of each path fail.
func (w *world) failFirstReads(fail apiserver.Fault) {
	failed := map[string]bool{}
	w.Server.Fail(func(r apiserver.Request) bool {
		first := r.Method == http.MethodGet && !failed[r.Path]
		failed[r.Path] = true
		return first
	}, fail)
}

const brokenConnection = "broken connection"

func failures() map[string]apiserver.Fault {
	return map[string]apiserver.Fault{
		"401":            {Err: apierrors.NewUnauthorized("expired")},
		"403":            {Err: apierrors.NewForbidden(schema.GroupResource{}, "", nil)},
		"429":            {Err: apierrors.NewTooManyRequests("slow down", 0)},
		"500":            {Err: apierrors.NewInternalError(errors.New("no leader"))},
		"503":            {Err: apierrors.NewServiceUnavailable("shutting down")},
		"504":            {Err: apierrors.NewTimeoutError("too slow", 0)},
		brokenConnection: {Drop: true},
	}
}

// If Resumed is set, the loop retries after every failure, and logs at most one failure per resource.
func TestResumedLoopWaitsOutFailures(t *testing.T) {
	for name, fail := range failures() {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.failFirstReads(fail)
				w.start(func(o *Options) { o.Resumed, o.Declared.All = true, true })
				w.until(func() string {
					if !w.c.Synced() {
						return "the caches are not filled"
					}
					return ""
				})
				lines := strings.Join(w.logged(""), "\n")
				for _, resource := range []string{"pods", "imoocpods.batch.tutorial.kubebuilder.io", "customresourcedefinitions"} {
					if n := strings.Count(lines, "watch "+resource+":") + strings.Count(lines, "list "+resource+":"); n > 1 {
						t.Errorf("%d log lines about failed reads of %s, want at most 1:\n%s", n, resource, lines)
					}
				}
			})
		})
	}
}

// If the loop has no permission to list the objects of a kind, Refused includes the kind, and the other kinds are
// reconciled.
func TestForbiddenKindIsSkipped(t *testing.T) {
	forbidden := kinds.HelloWorld()
	inWorld(t, []kinds.Kind{kinds.ImoocPod(), forbidden}, func(w *world) {
		w.failFirstReads(apiserver.Fault{Err: apierrors.NewServiceUnavailable("shutting down")})
		w.Forbid(apiserver.On("*", forbidden.Resource.Resource))
		w.start(func(o *Options) { o.Resumed = true })
		w.until(func() string {
			if _, settled := w.c.States(); !settled {
				return "the loop has not settled"
			}
			return ""
		})
		refused := w.c.Refused()
		if err := refused[forbidden.CRD()]; len(refused) != 1 || !apierrors.IsForbidden(err) {
			t.Errorf("Refused() = %v, want only a Forbidden error for %s", refused, forbidden.CRD())
		}
	})
}

// Without Resumed, Run returns an error immediately if the first request fails.
func TestFirstStartFails(t *testing.T) {
	for name, fail := range failures() {
		if name == brokenConnection {
			continue // the client repeats the request by itself
		}
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.failFirstReads(fail)
				if err := w.newLoop().Run(w.Context()); err == nil || !strings.Contains(err.Error(), "list pods") {
					t.Errorf("Run returned %v, want an error about \"list pods\"", err)
				}
			})
		})
	}
}
