package informer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// An outage is logged once, not once per resource. A rejection is logged for each resource.
func TestHealth(t *testing.T) {
	t.Parallel()
	refused := &url.Error{Op: "Get", URL: "https://server/api/v1/pods?limit=500", Err: errors.New("connect: connection refused")}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no"))
	overloaded := apierrors.NewServiceUnavailable("overloaded")
	const lost = "connection to the API server lost: connect: connection refused; trying again"
	type outcome struct {
		resource string
		err      error
	}
	for name, test := range map[string]struct {
		outcomes []outcome
		want     []string
	}{
		"no errors": {[]outcome{{"pods", nil}, {"nodes", nil}}, nil},
		"one outage": {[]outcome{{"pods", refused}, {"nodes", refused}, {"pods", refused}, {"pods", nil}, {"nodes", refused}, {"nodes", nil}, {"pods", nil}},
			[]string{lost, "connected again"}},
		"two outages":          {[]outcome{{"pods", refused}, {"pods", nil}, {"nodes", refused}, {"nodes", nil}}, []string{lost, "connected again", lost, "connected again"}},
		"overloaded server":    {[]outcome{{"pods", overloaded}, {"nodes", overloaded}}, []string{"connection to the API server lost: overloaded; trying again"}},
		"permission withdrawn": {[]outcome{{"nodes", forbidden}, {"nodes", forbidden}, {"pods", nil}, {"nodes", nil}}, []string{fmt.Sprintf("cannot watch nodes: %v; trying again", forbidden), "watching nodes again"}},
		"forbidden after an outage": {[]outcome{{"nodes", refused}, {"nodes", forbidden}},
			[]string{lost, "connected again", fmt.Sprintf("cannot watch nodes: %v; trying again", forbidden)}},
		"deleted CRD": {[]outcome{{"imoocpods", apierrors.NewNotFound(schema.GroupResource{}, "")}}, nil},
	} {
		var logged []string
		h := NewHealth(func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) })
		for _, o := range test.outcomes {
			h.observe(t.Context(), o.resource, o.err)
		}
		if !slices.Equal(logged, test.want) {
			t.Errorf("%s: log = %q, want %q", name, logged, test.want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	NewHealth(func(format string, args ...any) { t.Errorf(format, args...) }).observe(stopped, "pods", refused)
}

// After Forget drops an outage or a rejection of a resource, the next outage is logged, but the end of the
// rejection is not.
func TestHealthForgets(t *testing.T) {
	t.Parallel()
	var logged []string
	h := NewHealth(func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) })
	refused, forbidden := errors.New("connection refused"), apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	h.observe(t.Context(), "widgets", refused)
	h.Forget("widgets")
	h.observe(t.Context(), "pods", refused)
	h.observe(t.Context(), "pods", nil)
	h.observe(t.Context(), "widgets", forbidden)
	h.Forget("widgets")
	h.observe(t.Context(), "widgets", nil)
	const lost = "connection to the API server lost: connection refused; trying again"
	if want := []string{lost, lost, "connected again", fmt.Sprintf("cannot watch widgets: %v; trying again", forbidden)}; !slices.Equal(logged, want) {
		t.Errorf("log = %q, want %q", logged, want)
	}
}

// If a server cannot stream lists, the informer falls back to a list, and logs nothing.
func TestServerThatCannotStreamLists(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	streams := func(r apiserver.Request) bool { return r.Query.Get("sendInitialEvents") == "true" }
	s.Fail(streams, apiserver.Fault{Err: apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", field.ErrorList{
		field.Forbidden(field.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
	})})
	core, err := corev1client.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	h := NewHealth(func(format string, args ...any) { t.Errorf(format, args...) })
	whole, differ := func(pod *corev1.Pod) any { return pod }, func(_, _ *corev1.Pod) bool { return false }
	pods := h.New(SourceOf("pods", follow.SourceOf(core.Pods("default")), &corev1.Pod{}, whole, differ), func(_, _ any, _ bool) {})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(t.Context().Done(), pods.HasSynced) || len(s.Requests(streams)) == 0 {
		t.Error("the informer did not sync, or did not ask for a streamed list")
	}
	stop()
	running.Wait()
}
