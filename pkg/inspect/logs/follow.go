package logs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

const (
	// turn is how long a log stays open if other logs wait to be opened.
	turn = 2 * time.Second
	// drain is how long the log of a pod is read after the pod is deleted.
	drain = 10 * time.Second
	// A log that ended or cannot be read is reopened after leastPause. The pause doubles each time, up to longestPause.
	leastPause, longestPause = time.Second, 10 * time.Second
)

// Follower follows the logs of an object's containers while pods are created and deleted.
type Follower struct {
	Reader
	wanted Wanted

	slots   *slots
	running sync.WaitGroup
	stop    context.CancelCauseFunc

	mu sync.Mutex
	// pods contains the pods in the last report. It is nil before the first report.
	pods  map[types.UID]bool
	tails map[tailKey]*tail
	// labels maps a label of log lines to the UID of the last pod with that label.
	labels map[string]types.UID
}

type tailKey struct {
	pod       types.UID
	container string
}

// slots limits the number of open logs.
type slots struct {
	free     chan struct{}
	waiting  atomic.Int32
	reported sync.Once
}

// NewFollowers returns followers for n objects. Together, they keep at most r.Most logs open at the same
// time. They call stop if writing fails or reading is forbidden.
func NewFollowers(n int, r Reader, w Wanted, stop context.CancelCauseFunc) []*Follower {
	shared := &slots{free: make(chan struct{}, r.Most)}
	all := make([]*Follower, n)
	for i := range all {
		all[i] = &Follower{Reader: r, wanted: w, slots: shared, stop: stop, tails: map[tailKey]*tail{}, labels: map[string]types.UID{}}
	}
	return all
}

// See follows the selected containers in a report until the context ends, and stops following deleted pods.
func (f *Follower) See(ctx context.Context, report status.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.wanted
	all.Failing, all.AllContainers, all.Container = false, true, ""
	there := map[types.UID]bool{}
	for _, c := range Containers(report, all) {
		there[c.uid] = true
		if t := f.tails[tailKey{c.uid, c.Name}]; t != nil {
			t.set(c, false)
		}
	}
	for _, c := range Containers(report, f.wanted) {
		key := tailKey{c.uid, c.Name}
		if f.tails[key] != nil {
			continue
		}
		t := &tail{follower: f, container: c, changed: make(chan struct{}, 1), gone: make(chan struct{}), known: &resume{}, tail: f.Tail, since: f.Since}
		if f.pods != nil && !f.pods[c.uid] {
			// Read the log of the new pod from its beginning.
			t.tail, t.since = -1, time.Time{}
			t.title = "new pod " + c.Pod
			if before, again := f.labels[c.label]; again && before != c.uid {
				t.title = "replaced by the new pod " + c.Pod
			}
		} else {
			t.progress.run = c.run
		}
		f.labels[c.label] = c.uid
		f.tails[key] = t
		f.running.Go(func() { t.run(ctx) })
	}
	for key, t := range f.tails {
		if !there[key.pod] {
			t.set(t.container, true)
			delete(f.tails, key)
		}
	}
	f.pods = there
}

// End stops following all pods as if they were deleted, and waits until their logs have ended.
func (f *Follower) End(ctx context.Context) {
	f.See(ctx, status.Report{})
	f.running.Wait()
}

// step is the next action for the log of a container.
type step int

const (
	toWait         step = iota // wait for a change
	toRead                     // read the log of the newest run until it ends
	toReadPrevious             // read the rest of the log of the previous run
	toEnd                      // stop following the container
)

// progress records which runs of a container have been read.
type progress struct {
	// run is the newest run whose log was opened, or the run to begin with. done means that its log was read to the end.
	run  int32
	done bool
}

func (p progress) next(c Container, gone bool) step {
	unread := c.started && (!p.done || c.run > p.run)
	switch {
	case gone:
		return toEnd
	case !unread:
		return toWait
	case c.previous && !c.last && (c.run > p.run+1 || c.run == p.run+1 && !p.done):
		return toReadPrevious
	}
	return toRead
}

// tail follows the log of one container through all of its runs.
type tail struct {
	follower *Follower
	known    *resume
	progress progress
	// tail and since select the lines to read next.
	tail  int64
	since time.Time
	// title is printed before the first line.
	title string
	// rest is the incomplete last line.
	rest Line
	// read means that a log was opened. reported means that an error was reported to the user.
	read, reported bool

	// changed receives a value after a change. gone is closed when the pod is gone.
	changed, gone chan struct{}
	mu            sync.Mutex
	container     Container
	isGone        bool
}

func (t *tail) set(c Container, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isGone || !gone && t.container == c {
		return
	}
	t.container, t.isGone = c, gone
	if gone {
		close(t.gone)
	}
	select {
	case t.changed <- struct{}{}:
	default: // run has not yet received an earlier change
	}
}

func (t *tail) now() (Container, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.container, t.isGone
}

// run follows the container until its pod is gone, the context ends, or an error stops the follower.
func (t *tail) run(ctx context.Context) {
	f := t.follower
	pause := leastPause
	for ctx.Err() == nil {
		c, gone := t.now()
		s := t.progress.next(c, gone)
		switch s {
		case toEnd:
			t.flush(c)
			return
		case toWait:
			t.sleep(ctx, nil)
			continue
		}
		came, yielded, err := t.look(ctx, c, s)
		switch {
		case apierrors.IsForbidden(err), errors.Is(err, errWrite):
			f.stop(err)
			return
		case came:
			pause = leastPause
		}
		if now, _ := t.now(); yielded || now != c || err == nil && (t.progress.done || s == toReadPrevious) {
			continue
		}
		if errors.As(err, new(apierrors.APIStatus)) && !notYet(err) && !t.reported {
			t.reported = true
			f.Out.sayOf(c, "the log of container %s cannot be read, trying again: %v", c.Name, err)
		}
		t.sleep(ctx, time.After(pause))
		pause = min(2*pause, longestPause)
	}
}

// sleep waits until something changes, the context ends, or over fires.
func (t *tail) sleep(ctx context.Context, over <-chan time.Time) {
	select {
	case <-t.changed:
	case <-over:
	case <-ctx.Done():
	}
}

var errTurn = errors.New("others wait for their turn")

// look reads the log of the newest or the previous run to its end. came reports whether there were
// new lines. yielded reports whether look got no slot, or released its slot for other logs.
func (t *tail) look(ctx context.Context, c Container, s step) (came, yielded bool, err error) {
	f := t.follower
	if !f.slots.take(ctx, t.gone, f.Out) {
		return false, true, nil // determine the next step again, because the state might have changed
	}
	defer f.slots.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.read {
		t.since = cmp.Or(t.known.reopen(), t.since)
	}
	request := Request{Container: c, Tail: t.tail, Since: t.since, Previous: s == toReadPrevious || c.last}
	request.Follow = !request.Previous
	if s == toRead && c.run > t.progress.run || c.run > t.progress.run+1 {
		t.flush(c)
	}
	body, err := f.Open.open(ctx, request)
	switch {
	case s == toReadPrevious && notYet(err):
		t.progress = progress{run: c.run - 1, done: true} // the log has been removed
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	defer body.Close()
	t.mark(c, s)
	if t.tail == 0 {
		t.since = time.Now() // if this stream ends before its first line, the next one begins here
	}
	t.read, t.tail, t.reported, t.rest = true, -1, false, Line{}
	go t.supervise(ctx, cancel)
	all := f.Out.linesOf(c)
	t.rest, err = copyLines(body, all, t.known)
	came = all.written
	switch cause := context.Cause(ctx); {
	case errors.Is(err, errWrite):
	case errors.Is(cause, errTurn):
		return came, true, nil
	case err == nil && s == toReadPrevious:
		t.progress = progress{run: c.run - 1, done: true}
		t.flush(c)
	case err == nil && c.ended:
		t.progress.done = true
		t.flush(c)
	}
	return came, false, err
}

// mark announces the lines of a new pod or a new run, and resets the progress for a new run.
func (t *tail) mark(c Container, s step) {
	out := t.follower.Out
	if t.title != "" {
		out.sayOf(c, "%s on node %s", t.title, c.node)
		t.title = ""
	}
	if s == toReadPrevious || c.run == t.progress.run {
		return
	}
	if t.read || t.progress.run > 0 {
		how := ""
		if c.end != "" {
			how = " (" + c.end + ")"
		}
		out.sayOf(c, "container %s exited%s and was restarted (restart %d)", c.Name, how, c.run)
	}
	t.progress = progress{run: c.run}
}

// supervise cancels look if other logs wait for a slot at the end of a turn, or once the pod has been gone for drain.
func (t *tail) supervise(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	gone := t.gone
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if t.follower.slots.waiting.Load() > 0 {
				cancel(errTurn)
			}
		case <-gone:
			gone = nil
			time.AfterFunc(drain, func() { cancel(nil) })
		}
	}
}

// flush writes the incomplete last line if it has not been written.
func (t *tail) flush(c Container) {
	if t.rest.Text == "" || t.rest.Time.IsZero() || !t.known.isNew(t.rest) {
		return
	}
	l := t.follower.Out.linesOf(c)
	l.add(t.rest)
	t.rest = Line{}
	if err := l.write(); err != nil {
		t.follower.stop(err)
	}
}

// take waits for a free slot. It returns false if the context ends or the pod is gone.
func (s *slots) take(ctx context.Context, gone <-chan struct{}, out *Output) bool {
	select {
	case s.free <- struct{}{}:
		return true
	default:
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.reported.Do(func() {
		out.Say("following %d logs at a time and the others in turn; raise --max-log-requests to follow more", cap(s.free))
	})
	select {
	case s.free <- struct{}{}:
		return true
	case <-gone:
	case <-ctx.Done():
	}
	return false
}

func (s *slots) leave() { <-s.free }
