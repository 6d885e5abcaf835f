package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// podServer serves lists and watches of pods like an API server. Tests can make its requests fail.
type podServer struct {
	mu       sync.Mutex
	revision int
	pods     map[string]*corev1.Pod
	log      []watch.Event // the event of each revision
	// compacted is the first revision from which a watch can start. failing is the number of requests
	// that will fail.
	compacted, failing int
	forbidden          bool // watches are forbidden
	stalled            bool
	changed            chan struct{}
	watches            []chan error // an error or nil ends the watch
	lists              int
}

func newPodServer() *podServer {
	// Revisions start at one.
	return &podServer{revision: 1, log: []watch.Event{{}}, pods: map[string]*corev1.Pod{}, changed: make(chan struct{})}
}

func (s *podServer) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *podServer) store(kind watch.EventType, pod *corev1.Pod) {
	s.revision++
	pod = pod.DeepCopy()
	pod.ResourceVersion = strconv.Itoa(s.revision)
	s.log = append(s.log, watch.Event{Type: kind, Object: pod})
	if s.pods[pod.Name] = pod; kind == watch.Deleted {
		delete(s.pods, pod.Name)
	}
}

// end ends all watches. If err is an API status, the watches send it as an error event.
func (s *podServer) end(err error) {
	for _, w := range s.watches {
		w <- err
	}
	s.watches = nil
}

func (s *podServer) fails() error {
	if s.failing == 0 {
		return nil
	}
	s.failing--
	return apierrors.NewServiceUnavailable("the server is away")
}

func (s *podServer) source() Source {
	return Source{
		List: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if err := s.fails(); err != nil {
				return nil, err
			}
			s.lists++
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.revision)}}
			for _, name := range slices.Sorted(maps.Keys(s.pods)) {
				list.Items = append(list.Items, *s.pods[name].DeepCopy())
			}
			return list, nil
		},
		Watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if err := s.fails(); err != nil {
				return nil, err
			}
			since, err := strconv.Atoi(opts.ResourceVersion)
			switch {
			case err != nil:
				return nil, err
			case s.forbidden:
				return nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
			case since < s.compacted:
				return nil, apierrors.NewResourceExpired("too old resource version")
			}
			ended := make(chan error, 1)
			s.watches = append(s.watches, ended)
			events := make(chan watch.Event)
			w := watch.NewProxyWatcher(events)
			go s.tell(ctx, since, events, w.StopChan(), ended)
			return w, nil
		},
	}
}

// tell sends all changes after a revision to a watch until the watch ends.
func (s *podServer) tell(ctx context.Context, since int, events chan<- watch.Event, stopped <-chan struct{}, ended <-chan error) {
	defer close(events)
	send := func(e watch.Event) bool {
		select {
		case events <- e:
			return true
		case <-stopped:
		case <-ctx.Done():
		}
		return false
	}
	for {
		s.mu.Lock()
		var next *watch.Event
		if since < s.revision && !s.stalled {
			next = s.log[since].DeepCopy()
		}
		changed := s.changed
		s.mu.Unlock()
		if next != nil {
			since++
			if !send(*next) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case err := <-ended:
			var status apierrors.APIStatus
			if errors.As(err, &status) {
				send(watch.Event{Type: watch.Error, Object: new(status.Status())})
			}
			return
		case <-stopped:
			return
		case <-ctx.Done():
			return
		}
	}
}

func aPod(name string, uid int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(name, "-", uid))}}
}

type podFeed = Feed[*corev1.Pod, *corev1.Pod]

func newFeed() *podFeed {
	return New(Whole[*corev1.Pod], Compare, func(pod *corev1.Pod) (types.UID, schema.GroupVersionKind) {
		return types.UID(pod.Name), corev1.SchemeGroupVersion.WithKind(pod.Name)
	})
}

// pass advances the time in the bubble of the test, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// versions returns the resourceVersions of the pods in a feed by name.
func versions(ctx context.Context, t *testing.T, f *podFeed) map[string]string {
	t.Helper()
	known := map[string]string{}
	index, err := f.Index(ctx)
	if err != nil || len(index.Kinds) != len(index.Of) {
		t.Fatalf("the index has %d of %v, %v", len(index.Of), index.Kinds, err)
	}
	for uid, pods := range index.Of {
		if len(pods) != 1 || pods[0].Name != string(uid) {
			t.Errorf("of %s the index has %v", uid, pods)
		}
		known[pods[0].Name] = pods[0].ResourceVersion
	}
	return known
}

// A feed always has the same objects as a new list, however watches fail. It lists again only if a
// watch has expired.
func TestFeedIsWhatAListSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) { followForAWhile(t, rand.New(rand.NewPCG(seed, seed))) })
		})
	}
}

func followForAWhile(t *testing.T, random *rand.Rand) {
	ctx, stop := context.WithCancel(t.Context())
	s := newPodServer()
	notified := false
	f := newFeed()
	f.Subscribe(t, Subscriber{Matters: func(...types.UID) bool { return true }, Notify: func() { notified = true }})
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx, s.source(), metav1.ListOptions{}, nil) })
	synctest.Wait()
	expired := 0
	for step := range 40 {
		before := versions(ctx, t, f)
		notified = false
		s.do(func() {
			for range random.IntN(4) {
				name := fmt.Sprint("pod-", random.IntN(5))
				switch pod := s.pods[name]; {
				case pod == nil:
					s.store(watch.Added, aPod(name, s.revision))
				case random.IntN(3) == 0:
					s.store(watch.Deleted, pod)
				default:
					s.store(watch.Modified, pod)
				}
			}
			switch random.IntN(8) {
			case 0:
				s.end(nil)
			case 1:
				s.end(apierrors.NewInternalError(fmt.Errorf("etcd is away")))
			case 2:
				s.end(apierrors.NewResourceExpired("too old"))
				expired++
			case 3:
				s.end(nil)
				s.compacted = s.revision + 1
				s.store(watch.Added, aPod(fmt.Sprint("late-", step), 0))
				expired++
			case 4:
				s.end(nil)
				s.failing = random.IntN(4)
			case 5:
				s.stalled = true
			}
		})
		if s.stalled {
			synctest.Wait()
			s.do(func() { s.stalled = false })
		}
		pass(time.Minute) // enough for all retries
		want := map[string]string{}
		for name, pod := range s.pods {
			want[name] = pod.ResourceVersion
		}
		got := versions(ctx, t, f)
		if !maps.Equal(got, want) {
			t.Fatalf("step %d: it knows %v, and there is %v", step, got, want)
		}
		if !maps.Equal(before, got) && !notified {
			t.Fatalf("step %d: nobody was told that %v has become %v", step, before, got)
		}
	}
	if s.lists > 1+expired {
		t.Errorf("%d lists, and %d watches expired", s.lists, expired)
	}
	stop()
	running.Wait()
}

// A feed polls if the user is allowed to list pods but not to watch them.
func TestFeedThatMayNotWatchLists(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := newPodServer()
		s.forbidden = true
		f := newFeed()
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx, s.source(), metav1.ListOptions{}, nil) })
		synctest.Wait()
		s.do(func() { s.store(watch.Added, aPod("late", 0)); s.failing = 1 })
		pass(3 * pollInterval)
		if got := versions(ctx, t, f); len(got) != 1 {
			t.Errorf("it knows %v", got)
		}
		if index, err := f.Index(ctx); !index.Polled || err != nil {
			t.Errorf("it says polled: %t, error: %v", index.Polled, err)
		}
		stop()
		running.Wait()
	})
}

// If the first list fails, readers get the error until a later list succeeds.
func TestFeedRecoversFromTheFirstFailure(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := newPodServer()
		s.failing = 2
		f := newFeed()
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx, s.source(), metav1.ListOptions{}, nil) })
		synctest.Wait()
		if _, err := f.Index(ctx); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("the error is %v", err)
		}
		pass(time.Minute)
		if _, err := f.Index(ctx); err != nil {
			t.Errorf("the error is still %v", err)
		}
		stop()
		running.Wait()
	})
}

func TestUIDs(t *testing.T) {
	t.Parallel()
	owned := aPod("a", 0)
	owned.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: "owner", Controller: new(true)}}
	about := &corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: "event"}, InvolvedObject: corev1.ObjectReference{UID: "pod"}}
	for _, test := range []struct {
		obj  metav1.Object
		want []types.UID
	}{{aPod("a", 0), []types.UID{"a-0"}}, {owned, []types.UID{"a-0", "owner"}}, {about, []types.UID{"event", "pod"}}} {
		if got := uids(test.obj); !slices.Equal(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

// A subscriber is notified of changes that affect it, of every list, and of every error.
func TestSubscribersAreToldWhatMatters(t *testing.T) {
	t.Parallel()
	f := New(func(pod *corev1.Pod) *corev1.Pod { pod.Annotations = nil; return pod }, Compare, nil)
	told := map[types.UID]int{}
	for _, uid := range []types.UID{"a-0", "b-0"} {
		f.Subscribe(uid, Subscriber{Matters: func(all ...types.UID) bool { return slices.Contains(all, uid) }, Notify: func() { told[uid]++ }})
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
		{func() { f.replace([]*corev1.Pod{aPod("a", 0)}) }, 3, 2},
		{func() { f.Refuse(nil) }, 4, 3},
	} {
		step.change()
		if told["a-0"] != step.a || told["b-0"] != step.b {
			t.Errorf("they were told %v, want %d and %d", told, step.a, step.b)
		}
	}
	if pod.Annotations != nil {
		t.Error("a change is not trimmed")
	}
}

// A failed feed returns its error to readers. Readers of a feed that has not synced wait until their
// context ends.
func TestFeedThatIsNotKnown(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.Refuse(errOdd)
	if _, err := f.Index(t.Context()); !errors.Is(err, errOdd) {
		t.Error(err)
	}
	<-f.Known()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errOdd)
	if index, err := newFeed().Index(ctx); !errors.Is(err, errOdd) || len(index.Of) > 0 {
		t.Error(index, err)
	}
}

// If the user is not allowed to list pods, or loses this permission, a feed returns the error and
// does not list again.
func TestFeedThatMayNotList(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		script script
		lists  int
	}{
		"from the first": {script{lists: []error{errForbidden}}, 1},
		"any more":       {script{lists: []error{nil, nil, errAway, errForbidden}, watches: []func(chan<- watch.Event) error{refuses(errForbidden)}}, 4},
	} {
		bubble.Test(t, func(t *testing.T) {
			f := newFeed()
			f.Run(t.Context(), test.script.source(), metav1.ListOptions{}, nil)
			if _, err := f.Index(t.Context()); !apierrors.IsForbidden(err) || test.script.listed != test.lists {
				t.Errorf("%s: %v after %d lists", what, err, test.script.listed)
			}
		})
	}
}
