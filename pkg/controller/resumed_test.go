package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// emptyServer returns a server with the shipped kinds and no objects. The first read of each path
// fails.
func emptyServer(t *testing.T, fail apiserver.Fault) *apiserver.Server {
	t.Helper()
	s := apiserver.New(t)
	s.CreateCRDs()
	failed := map[string]bool{}
	s.Fail(func(r apiserver.Request) bool {
		first := r.Method == http.MethodGet && !failed[r.Path]
		failed[r.Path] = true
		return first
	}, fail)
	return s
}

const brokenConnection = "a connection that breaks"

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

// startAt starts a loop for the kinds in opts, or for ImoocPods if opts has none. ended receives
// the result of Run.
func startAt(t *testing.T, s *apiserver.Server, opts Options) (loop *Controller, ended chan error) {
	t.Helper()
	config := s.RESTConfig()
	var err error
	if opts.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if opts.Core, err = corev1client.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if opts.Kinds == nil {
		opts.Kinds = []kinds.Kind{kinds.ImoocPod()}
	}
	opts.Workers, opts.Namespace, opts.Metrics = 1, "a", metrics.New("")
	if opts.Log == nil {
		opts.Log = func(report.Line) {}
	}
	loop = New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- loop.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return loop, ended
}

// If Resumed is set, the loop retries after every failure, and logs each failure at most once.
func TestResumedLoopWaitsOutFailures(t *testing.T) {
	t.Parallel()
	for name, fail := range failures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var said []string
			loop, ended := startAt(t, emptyServer(t, fail), Options{
				Resumed: true, Declared: Declarations{All: true},
				Log: func(line report.Line) {
					mu.Lock()
					defer mu.Unlock()
					said = append(said, line.Text)
				},
			})
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
				select {
				case err := <-ended:
					t.Fatalf("the loop ended: %v", err)
				default:
				}
				return loop.Synced(), nil
			})
			mu.Lock()
			defer mu.Unlock()
			lines := strings.Join(said, "\n")
			if err != nil {
				t.Fatalf("%v; it said:\n%s", err, lines)
			}
			for _, resource := range []string{"pods", "imoocpods.batch.tutorial.kubebuilder.io", "customresourcedefinitions"} {
				if n := strings.Count(lines, "watch "+resource+":") + strings.Count(lines, "list "+resource+":"); n > 1 {
					t.Errorf("it said %d times that %s cannot be read:\n%s", n, resource, lines)
				}
			}
		})
	}
}

// If the loop has no permission to list the objects of a kind, Refused returns the kind, and the
// other kinds are reconciled.
func TestKindThatMayNotBeListedIsLeftOut(t *testing.T) {
	t.Parallel()
	mayNot := kinds.HelloWorld()
	s := emptyServer(t, apiserver.Fault{Err: apierrors.NewServiceUnavailable("shutting down")})
	s.Fail(apiserver.On("*", mayNot.Resource.Resource), apiserver.Fault{Err: apierrors.NewForbidden(mayNot.Resource.GroupResource(), "", nil)})
	loop, ended := startAt(t, s, Options{Resumed: true, Kinds: []kinds.Kind{kinds.ImoocPod(), mayNot}})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, errors.New("it does not converge"))
	defer cancel()
	for settled := false; !settled; _, settled = loop.States() {
		select {
		case <-loop.Changed():
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		}
	}
	refused := loop.Refused()
	if err := refused[mayNot.CRD()]; len(refused) != 1 || !apierrors.IsForbidden(err) {
		t.Errorf("left out are %v", refused)
	}
	select {
	case err := <-ended:
		t.Errorf("the loop ended: %v", err)
	default:
	}
}

// Without Resumed, Run returns an error immediately if the first request fails.
func TestFirstStartFails(t *testing.T) {
	t.Parallel()
	for name, fail := range failures() {
		if name == brokenConnection {
			continue // the client repeats the request by itself
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ended := startAt(t, emptyServer(t, fail), Options{})
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "list pods") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
