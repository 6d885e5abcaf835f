package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func podsOf(t *testing.T, s *apiserver.Server) *cache.ListWatch {
	t.Helper()
	client, err := corev1client.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return SourceOf(client.Pods(metav1.NamespaceDefault))
}

func aPod(name string, uid int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(name, "-", uid))}}
}

type podFeed = Feed[*corev1.Pod, *corev1.Pod]

func newFeed() *podFeed {
	return New(func(pod *corev1.Pod) (*corev1.Pod, Reference) {
		return pod, Reference{types.UID(pod.Name), corev1.SchemeGroupVersion.WithKind(pod.Name)}
	})
}

// run starts a feed of a server's pods. The feed ends with the test.
func run(t *testing.T, s *apiserver.Server) *podFeed {
	t.Helper()
	f, from := newFeed(), podsOf(t, s)
	go f.Run(t.Context(), from, metav1.ListOptions{}, nil)
	synctest.Wait()
	return f
}

// pass advances the time in the bubble of the test, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// versions returns the resourceVersions of the pods in a feed, by pod name.
func versions(t *testing.T, f *podFeed) map[string]string {
	t.Helper()
	known := map[string]string{}
	index, err := f.Index(t.Context())
	if err != nil || len(index.Kinds) != len(index.Of) {
		t.Fatalf("index has %d owners and the kinds %v, error %v", len(index.Of), index.Kinds, err)
	}
	for uid, pods := range index.Of {
		if len(pods) != 1 || pods[0].Name != string(uid) {
			t.Errorf("owner %s: index has %v, want the pod of this name", uid, pods)
		}
		known[pods[0].Name] = pods[0].ResourceVersion
	}
	return known
}

// After any failure of a watch, a feed has the same objects as a new list. It lists again only if a watch has expired.
func TestFeedMatchesFreshList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) { followForAWhile(t, rand.New(rand.NewPCG(seed, seed))) })
		})
	}
}

func followForAWhile(t *testing.T, random *rand.Rand) {
	s := apiserver.New(t)
	f := run(t, s)
	notified := false
	f.Subscribe(t, func(...types.UID) { notified = true })
	expired := 0
	for step := range 40 {
		before := versions(t, f)
		notified = false
		fault := random.IntN(8)
		if fault == 0 {
			s.Stall("pods")
		}
		for range random.IntN(4) {
			changePod(s, fmt.Sprint("pod-", random.IntN(5)), random)
		}
		switch fault {
		case 0:
			synctest.Wait()
			s.Stall()
		case 1:
			s.EndWatches("pods", nil)
		case 2:
			s.EndWatches("pods", apierrors.NewInternalError(errors.New("etcd is away")))
		case 3:
			s.EndWatches("pods", errExpired)
			expired++
		case 4:
			s.EndWatches("pods", nil)
			s.Expire()
			s.Create(aPod(fmt.Sprint("late-", step), 0))
			expired++
		case 5:
			s.EndWatches("pods", nil)
			s.Fail(apiserver.On("*", "pods"), apiserver.Fault{Err: errAway, Times: 1 + random.IntN(3)})
		}
		pass(time.Minute) // enough for all retries
		want := map[string]string{}
		for _, pod := range s.List("pods", metav1.NamespaceDefault) {
			want[pod.GetName()] = pod.GetResourceVersion()
		}
		got := versions(t, f)
		if !maps.Equal(got, want) {
			t.Fatalf("step %d: feed has %v, server has %v", step, got, want)
		}
		if !maps.Equal(before, got) && !notified {
			t.Fatalf("step %d: no notification that %v became %v", step, before, got)
		}
	}
	if lists := len(s.Requests(apiserver.On("list", "pods"))); lists > 1+expired {
		t.Errorf("%d lists, want at most 1 besides the %d after expired watches", lists, expired)
	}
}

// changePod creates a pod or, if it exists, changes or removes it.
func changePod(s *apiserver.Server, name string, random *rand.Rand) {
	switch {
	case s.Get("pods", metav1.NamespaceDefault, name) == nil:
		s.Create(aPod(name, random.Int()))
	case random.IntN(3) == 0:
		s.Remove("pods", metav1.NamespaceDefault, name)
	default:
		s.Update("pods", metav1.NamespaceDefault, name, func(pod *unstructured.Unstructured) {
			pod.SetLabels(map[string]string{"number": fmt.Sprint(random.Int())})
		})
	}
}

// A feed polls if the user is allowed to list pods but not to watch them.
func TestFeedPollsIfWatchIsForbidden(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		s.Forbid(apiserver.On("watch", "pods"))
		f := run(t, s)
		s.Create(aPod("late", 0))
		s.Fail(apiserver.On("list", "pods"), apiserver.Fault{Err: errAway, Times: 1})
		pass(3 * pollInterval)
		if got := versions(t, f); len(got) != 1 {
			t.Errorf("feed has %v, want 1 pod", got)
		}
		if index, err := f.Index(t.Context()); !index.Polled || err != nil {
			t.Errorf("Polled = %t, error %v, want true and no error", index.Polled, err)
		}
	})
}

// If the first list fails, readers get the error until a later list succeeds.
func TestFeedRecoversFromTheFirstFailure(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		s.Fail(apiserver.On("list", "pods"), apiserver.Fault{Err: errAway, Times: 2})
		f := run(t, s)
		if _, err := f.Index(t.Context()); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("the first list fails: error = %v, want ServiceUnavailable", err)
		}
		pass(time.Minute)
		if _, err := f.Index(t.Context()); err != nil {
			t.Errorf("a later list succeeds: error = %v", err)
		}
	})
}

// A subscriber gets the UIDs of each changed object and its owner, so it can ignore changes of other objects.
// After a list or an error, it gets no UIDs.
func TestSubscribersGetChangedUIDs(t *testing.T) {
	t.Parallel()
	f := New(func(pod *corev1.Pod) (*corev1.Pod, Reference) {
		pod.Annotations = nil
		return pod, Reference{UID: "owner-of-" + types.UID(pod.Name)}
	})
	notified := map[types.UID]int{}
	for _, uid := range []types.UID{"a-0", "b-0", "owner-of-b"} {
		f.Subscribe(uid, func(about ...types.UID) {
			if len(about) == 0 || slices.Contains(about, uid) {
				notified[uid]++
			}
		})
	}
	pod := aPod("a", 0)
	pod.Annotations = map[string]string{"note": "long"}
	for _, step := range []struct {
		change func()
		a, b   int
	}{
		{func() { _, _ = f.Change(pod, false) }, 1, 0},
		{func() { _, _ = f.Change(aPod("b", 0), false) }, 1, 1},
		{func() { _, _ = f.Change(aPod("a", 0), true) }, 2, 1},
		{func() { _, _ = f.replace([]*corev1.Pod{aPod("a", 0)}) }, 3, 2},
		{func() { f.Refuse(nil) }, 4, 3},
	} {
		step.change()
		if notified["a-0"] != step.a || notified["b-0"] != step.b || notified["owner-of-b"] != step.b {
			t.Errorf("notifications = %v, want %d about a and %d about b", notified, step.a, step.b)
		}
	}
	if pod.Annotations != nil {
		t.Error("the changed pod still has annotations, want it trimmed")
	}
}

// A failed feed returns its error to readers. If a feed never syncs, its readers wait until their context ends.
func TestIndexOfUnknownFeed(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.Refuse(errOdd)
	if _, err := f.Index(t.Context()); !errors.Is(err, errOdd) {
		t.Errorf("a failed feed: error = %v, want errOdd", err)
	}
	if !f.Known() {
		t.Error("a failed feed: Known() = false, want true")
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errOdd)
	if index, err := newFeed().Index(ctx); !errors.Is(err, errOdd) || len(index.Of) > 0 {
		t.Errorf("a feed that has not synced: index %v, error %v, want errOdd", index, err)
	}
}

// Known returns true before a feed notifies its subscribers of the first objects or the first error.
func TestKnownOnceReported(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(*podFeed){
		"objects": func(f *podFeed) { _, _ = f.replace(nil) },
		"error":   func(f *podFeed) { f.Refuse(errOdd); f.Refuse(errOdd) },
	} {
		f := newFeed()
		notified := 0
		f.Subscribe(t, func(...types.UID) {
			if notified++; !f.Known() {
				t.Errorf("%s: notified before the feed is known", name)
			}
		})
		learn(f)
		if notified == 0 {
			t.Errorf("%s: no notification", name)
		}
	}
}

// If the user is not allowed to list pods, or loses this permission, a feed returns the error and does not list again.
func TestFeedEndsIfListIsForbidden(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		script script
		lists  int
	}{
		"from the start":        {script{lists: []error{errForbidden}}, 1},
		"permission lost later": {script{lists: []error{nil, nil, errAway, errForbidden}, watches: []watched{refuses(errForbidden)}}, 4},
	} {
		bubble.Test(t, func(t *testing.T) {
			f := newFeed()
			f.Run(t.Context(), test.script.source(), metav1.ListOptions{}, nil)
			if _, err := f.Index(t.Context()); !apierrors.IsForbidden(err) || test.script.listed != test.lists {
				t.Errorf("%s: error %v after %d lists", what, err, test.script.listed)
			}
		})
	}
}
