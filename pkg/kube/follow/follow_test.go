package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

var (
	errForbidden = apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))
	errAway      = apierrors.NewServiceUnavailable("the server is away")
	errExpired   = apierrors.NewResourceExpired("too old resource version")
	errGone      = &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone}}
	errOdd       = errors.New("it is odd")
)

// Transient recognizes errors after which a request is repeated. permanent recognizes errors after
// which a watch is not resumed.
func TestTransientAndPermanentErrors(t *testing.T) {
	t.Parallel()
	status := func(code int32) error { return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}} }
	request := func(err error) error { return &url.Error{Op: "Get", URL: "https://server", Err: err} }
	for _, test := range []struct {
		err                  error
		transient, permanent bool
	}{
		{nil, false, false},
		{errOdd, false, false},
		{status(499), false, false},
		{status(500), true, false},
		{errAway, true, false},
		{apierrors.NewTooManyRequests("slow down", 1), true, false},
		{errForbidden, false, true},
		{apierrors.NewUnauthorized("who?"), false, true},
		{apierrors.NewNotFound(corev1.Resource("pods"), ""), false, true},
		{errExpired, false, true},
		{errGone, false, true},
		{apierrors.NewBadRequest("odd"), false, false},
		{fmt.Errorf("list: %w", errAway), true, false},
		{request(io.ErrUnexpectedEOF), true, false},
		{request(context.Canceled), false, false},
		{request(context.DeadlineExceeded), false, false},
		{context.Canceled, false, false},
	} {
		if got := Transient(test.err); got != test.transient {
			t.Errorf("Transient(%v) = %t", test.err, got)
		}
		if got := permanent(test.err); got != test.permanent {
			t.Errorf("permanent(%v) = %t", test.err, got)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	serves := func(obj runtime.Object) *cache.ListWatch {
		return &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return obj, nil }}
	}
	pods := serves(&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{*aPod("a", 0), *aPod("b", 0)}})
	items, version, err := ListFrom[*corev1.Pod](t.Context(), pods, metav1.ListOptions{})
	if err != nil || version != "7" || len(items) != 2 || items[0].Name != "a" || items[1].Name != "b" {
		t.Errorf("items %v, resourceVersion %s, error %v", items, version, err)
	}
	if _, _, err := ListFrom[*corev1.Node](t.Context(), pods, metav1.ListOptions{}); err == nil || err.Error() != "read a list: it has a *v1.Pod" {
		t.Errorf("pods read as nodes: error = %v", err)
	}
	if _, _, err := ListFrom[*corev1.Pod](t.Context(), serves(aPod("a", 0)), metav1.ListOptions{}); err == nil {
		t.Error("a pod is accepted as a list")
	}
}

// script is a server that returns the given results of lists and watches in order. Successful lists are empty.
// After the last given result, lists succeed, and watches stay open.
type script struct {
	lists   []error
	watches []watched
	// listed and watched are the numbers of list and watch requests.
	listed, watched int
}

// watched is the result of a watch: an error, or events after which the watch ends or stays open.
type watched struct {
	err    error
	events []watch.Event
	ends   bool
}

func (s *script) source() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			if s.listed++; s.listed <= len(s.lists) && s.lists[s.listed-1] != nil {
				return nil, s.lists[s.listed-1]
			}
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(_ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			var result watched
			if s.watched++; s.watched <= len(s.watches) {
				result = s.watches[s.watched-1]
			}
			events := make(chan watch.Event, len(result.events))
			for _, e := range result.events {
				events <- e
			}
			if result.ends {
				close(events)
			}
			return watch.NewProxyWatcher(events), result.err
		},
	}
}

func sends(all ...watch.Event) watched { return watched{events: all} }

func refuses(err error) watched { return watched{err: err} }

func event(kind watch.EventType, obj runtime.Object) watch.Event {
	if pod, is := obj.(*corev1.Pod); is {
		pod.ResourceVersion = "2"
	}
	return watch.Event{Type: kind, Object: obj}
}

// Objects passes listed objects and changes to the handler until the handler is done, a request
// fails, or the context ends.
func TestObjectsEnds(t *testing.T) {
	t.Parallel()
	yes := func() (bool, error) { return true, nil }
	no := func() (bool, error) { return false, nil }
	fails := func() (bool, error) { return false, errOdd }
	both := func() (bool, error) { return true, errOdd }
	status := func(err *apierrors.StatusError) watch.Event {
		return watch.Event{Type: watch.Error, Object: new(err.Status())}
	}
	for _, test := range []struct {
		what            string
		script          script
		listed, changed func() (bool, error)
		want            error
		lists, watches  int
		ends            bool
	}{
		{"Listed is done", script{}, yes, no, nil, 1, 0, true},
		{"Listed fails", script{}, fails, no, errOdd, 1, 0, true},
		{"Listed is done, and fails", script{}, both, no, errOdd, 1, 0, true},
		{"nothing changes", script{}, no, yes, nil, 1, 1, false},
		{"Changed is done", script{watches: []watched{sends(event(watch.Added, aPod("a", 0)))}}, no, yes, nil, 1, 1, true},
		{"Changed fails", script{watches: []watched{sends(event(watch.Added, aPod("a", 0)))}}, no, fails, errOdd, 1, 1, true},
		{"Changed is done, and fails", script{watches: []watched{sends(event(watch.Added, aPod("a", 0)))}}, no, both, errOdd, 1, 1, true},
		{"a change of another type", script{watches: []watched{sends(event(watch.Added, &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}), event(watch.Added, aPod("a", 0)))}}, no, yes, nil, 1, 1, true},
		{"list forbidden", script{lists: []error{errForbidden}}, no, no, errForbidden, 1, 0, true},
		{"the first list fails", script{lists: []error{errAway}}, no, no, errAway, 1, 0, true},
		{"watch forbidden", script{watches: []watched{refuses(errForbidden)}}, no, no, errForbidden, 1, 1, true},
		{"watch refused: expired", script{watches: []watched{refuses(errExpired), sends(event(watch.Added, aPod("a", 0)))}}, no, yes, nil, 2, 2, true},
		{"an open watch expires", script{watches: []watched{sends(status(errExpired)), sends(event(watch.Added, aPod("a", 0)))}}, no, yes, nil, 2, 2, true},
		{"a relist fails twice", script{lists: []error{nil, errAway, errAway}, watches: []watched{refuses(errExpired), sends(event(watch.Added, aPod("a", 0)))}}, no, yes, nil, 4, 2, true},
		{"a relist is forbidden", script{lists: []error{nil, errForbidden}, watches: []watched{refuses(errExpired)}}, no, no, errForbidden, 2, 1, true},
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			ended, err := false, error(nil)
			go func() {
				err = Objects(ctx, test.script.source(), metav1.ListOptions{}, nil, Handler[*corev1.Pod]{
					Listed:  func([]*corev1.Pod) (bool, error) { return test.listed() },
					Changed: func(*corev1.Pod, bool) (bool, error) { return test.changed() },
				})
				ended = true
			}()
			pass(10 * time.Second)
			if ended != test.ends || !errors.Is(err, test.want) || test.script.listed != test.lists || test.script.watched != test.watches {
				t.Errorf("%s: Objects ended = %t, error %v, after %d lists and %d watches", test.what, ended, err, test.script.listed, test.script.watched)
			}
			stopped := errors.New("somebody has stopped it")
			stop(stopped)
			if synctest.Wait(); !ended || !test.ends && !errors.Is(err, stopped) {
				t.Errorf("%s: after the context was canceled: Objects ended = %t, error %v", test.what, ended, err)
			}
		})
	}
}

// Objects pauses between the requests to a server that fails, even if the server rejects each watch as expired. It
// stops when the context ends.
func TestObjectsPauses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		script script
		lists  int
	}{
		{"a list that fails", script{lists: append([]error{nil}, slices.Repeat([]error{errAway}, 100)...), watches: []watched{refuses(errExpired)}}, 3},
		{"watches that expire", script{watches: slices.Repeat([]watched{refuses(errExpired)}, 100)}, 3},
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeoutCause(t.Context(), 2500*time.Millisecond, errOdd)
			defer stop()
			err := Objects(ctx, test.script.source(), metav1.ListOptions{}, nil, Handler[*corev1.Pod]{Listed: func([]*corev1.Pod) (bool, error) { return false, nil }})
			if !errors.Is(err, errOdd) || test.script.listed != test.lists {
				t.Errorf("%s: error %v after %d lists", test.what, err, test.script.listed)
			}
		})
	}
}

// Any response except a transient error shows that the server can be reached. A transient error means that the
// connection is lost. If the first list fails, Objects only returns the error.
func TestObjectsReportLostConnection(t *testing.T) {
	t.Parallel()
	away := slices.Repeat([]error{errAway}, 5)
	expires := []watched{refuses(errExpired)}
	// endsThen returns a script whose first watch ends. The next five watches return err.
	endsThen := func(err error) script {
		return script{watches: append([]watched{{ends: true}}, slices.Repeat([]watched{{err: err}}, 5)...)}
	}
	for _, test := range []struct {
		what   string
		lost   bool // before the call
		script script
		want   []bool // the reported changes; true means lost
	}{
		{"the first list", true, script{}, []bool{true, false}},
		{"a first list that fails", false, script{lists: []error{errAway}}, nil},
		{"a first list that is forbidden", true, script{lists: []error{errForbidden}}, []bool{true}},
		{"a list that is retried", false, script{lists: slices.Concat([]error{nil}, away), watches: expires}, []bool{true, false}},
		{"a retried list, then forbidden", false, script{lists: slices.Concat([]error{nil}, away, []error{errForbidden}), watches: expires}, []bool{true, false}},
		{"a watch that ends", false, endsThen(nil), nil},
		{"a watch of a type that is gone", false, endsThen(apierrors.NewNotFound(corev1.Resource("pods"), "")), nil},
		{"a watch that becomes forbidden", false, endsThen(errForbidden), nil},
		{"a watch that has expired", false, endsThen(errExpired), nil},
		{"a watch of a server that is starting", false, endsThen(errAway), []bool{true, false}},
		{"a watch without a connection", false, endsThen(&url.Error{Op: "Get", URL: "https://server", Err: errors.New("connection refused")}), []bool{true, false}},
		// A canceled request does not show that the connection is back.
		{"a watch that is canceled", false, endsThen(context.Canceled), []bool{true, false}},
	} {
		bubble.Test(t, func(t *testing.T) {
			var reported []bool
			connection := &Connection{Changed: func(lost time.Time) { reported = append(reported, !lost.IsZero()) }}
			if test.lost {
				connection.note(errAway)
				pass(2 * lossTold)
			}
			go func() {
				_ = Objects(t.Context(), test.script.source(), metav1.ListOptions{}, connection, Handler[*corev1.Pod]{
					Listed: func([]*corev1.Pod) (bool, error) { return false, nil },
				})
			}()
			if pass(time.Minute); !slices.Equal(reported, test.want) {
				t.Errorf("%s: reported losses = %v, want %v", test.what, reported, test.want)
			}
		})
	}
}

// Objects sends the selectors in lists and watches. It supports unstructured objects.
func TestObjectsOfAnyType(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		client, err := dynamic.NewForConfig(s.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.Create(aPod("a", 0))
		s.Create(aPod("b", 0))
		pods := SourceOf(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(metav1.NamespaceDefault))
		selected := ByName("a")
		selected.LabelSelector = "app!=web"
		var seen []string
		go func() {
			_ = Objects(t.Context(), pods, selected, nil, Handler[*unstructured.Unstructured]{
				Listed: func(found []*unstructured.Unstructured) (bool, error) {
					for _, obj := range found {
						seen = append(seen, obj.GetName())
					}
					return false, nil
				},
				Changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) {
					seen = append(seen, fmt.Sprint(obj.GetName(), " ", gone))
					return gone, nil
				},
			})
		}()
		synctest.Wait()
		for _, name := range []string{"b", "a"} {
			s.Update("pods", metav1.NamespaceDefault, name, func(pod *unstructured.Unstructured) {
				pod.SetLabels(map[string]string{"new": "label"})
			})
			s.Remove("pods", metav1.NamespaceDefault, name)
		}
		synctest.Wait()
		if want := []string{"a", "a false", "a true"}; !slices.Equal(seen, want) {
			t.Errorf("seen = %q, want %q", seen, want)
		}
		for _, r := range s.Requests(apiserver.On("list|watch", "pods")) {
			if query := r.Query; query.Get("fieldSelector") != "metadata.name=a" || query.Get("labelSelector") != "app!=web" {
				t.Errorf("%s has the wrong selectors: %v", r, query)
			}
		}
	})
}
