package controller

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// emptyServer serves empty lists, and watches that tell nothing. The first
// request for each path goes to fail.
func emptyServer(t *testing.T, fail http.HandlerFunc) *rest.Config {
	t.Helper()
	var mu sync.Mutex
	failed := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		first := !failed[r.URL.Path]
		failed[r.URL.Path] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case first && r.Method == http.MethodGet:
			fail(w, r)
		case query.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			if query.Get("sendInitialEvents") != "" {
				apiVersion, kind := typeAt(r.URL.Path)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
					"resourceVersion": "1", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
				}}})
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	return &rest.Config{Host: server.URL, QPS: -1}
}

// typeAt is the type of the objects that a path serves.
func typeAt(path string) (apiVersion, kind string) {
	switch {
	case strings.HasSuffix(path, "/pods"):
		return "v1", "Pod"
	case strings.HasSuffix(path, "/resourcequotas"):
		return "v1", "ResourceQuota"
	case strings.HasSuffix(path, "/controllerrevisions"):
		return "apps/v1", "ControllerRevision"
	case strings.HasSuffix(path, "/customresourcedefinitions"):
		return "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	}
	return kinds.ImoocPod().GroupVersionKind().ToAPIVersionAndKind()
}

func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
}

const brokenConnection = "a connection that breaks"

// failures are the ways in which a server can fail at the first request.
func failures() map[string]http.HandlerFunc {
	status := func(code int, reason metav1.StatusReason) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, code, reason) }
	}
	return map[string]http.HandlerFunc{
		"401": status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized),
		"403": status(http.StatusForbidden, metav1.StatusReasonForbidden),
		"429": status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests),
		"500": status(http.StatusInternalServerError, metav1.StatusReasonInternalError),
		"503": status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable),
		"504": status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout),
		brokenConnection: func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
	}
}

// startAt starts a loop for some kinds, by default one, and the declared ones. ended
// gets the error of Run.
func startAt(t *testing.T, config *rest.Config, opts Options) (loop *Controller, ended chan error) {
	t.Helper()
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
	opts.Workers, opts.Namespace = 1, "a"
	if opts.Log == nil {
		opts.Log = func(report.Line) {}
	}
	if loop, err = New(opts); err != nil {
		t.Fatal(err)
	}
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

// A loop that resumes waits out whatever fails, and says so.
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

// A kind without permission to list is left out and reported as such. The other kinds are
// reconciled.
func TestKindThatMayNotBeListedIsLeftOut(t *testing.T) {
	t.Parallel()
	mayNot := kinds.HelloWorld()
	config := emptyServer(t, func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return answers(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+mayNot.Resource.Resource) {
				return answer(r, nil, apierrors.NewForbidden(mayNot.Resource.GroupResource(), "", nil))
			}
			return next.RoundTrip(r)
		})
	})
	loop, ended := startAt(t, config, Options{Resumed: true, Kinds: []kinds.Kind{kinds.ImoocPod(), mayNot}})
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

// answers is a transport that is a function.
type answers func(*http.Request) (*http.Response, error)

// RoundTrip answers a request.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// At the very start it is an error at once.
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
