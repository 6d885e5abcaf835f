package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// followers follow the Deployment web in all the ways in which commands follow objects: in a wait
// ("status NAME -w", and verbs that wait), as one of many objects ("status -w"), for its pods ("logs
// -f"), and as a single object without a terminal. shown has the last output of each follower.
type followers struct {
	mu    sync.Mutex
	shown map[string]string
	// newest is the newest version of the object that the wait has shown.
	newest int
	faults []string
}

func (f *followers) show(who, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown[who] = what
}

// seen records an observation of the wait. A state that is older than an earlier one is a fault.
func (f *followers) seen(s Observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	version, err := strconv.Atoi(s.Object.GetResourceVersion())
	if err != nil || version < f.newest {
		f.faults = append(f.faults, fmt.Sprintf("version %d is shown after %d: %v", version, f.newest, err))
	}
	f.newest, f.shown["wait"], f.shown["what is not read"] = version, inFull(s.Report), fmt.Sprint(s.Report.Unread)
}

// follow starts all followers. They run until the context ends.
func (f *followers) follow(ctx context.Context, c *kube.Factory, running *sync.WaitGroup) error {
	ended := func(err error) {
		if ctx.Err() == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.faults = append(f.faults, fmt.Sprintf("it ended: %v", err))
		}
	}
	never := Condition{What: "to be never", Tree: true, Met: func(Observation) (bool, error) { return false, nil }}
	running.Go(func() {
		a := &Waiter{Clients: c, Closely: true, Show: f.seen, Connection: &follow.Connection{Changed: func(time.Time) {}}}
		for _, err := range a.Wait(ctx, []WaitTarget{{Target: web(), Conditions: []Condition{never}}}) {
			ended(err)
		}
	})
	show := func(s Observation) error { f.show("pods", podsOf(s.Report)); return nil }
	if err := followSource(ctx, c, running, Extent{Depth: Below}, Source{Target: web(), Show: show, Fail: ended}, false); err != nil {
		return err
	}
	for who, several := range map[string]bool{"fleet": true, "fleet of one": false} {
		if err := f.followFleet(ctx, c, running, who, several, ended); err != nil {
			return err
		}
	}
	return nil
}

func followSource(ctx context.Context, c *kube.Factory, running *sync.WaitGroup, x Extent, from Source, several bool) error {
	f, err := NewFollower(ctx, c, nil, x, several, x.Depth == Below)
	if err != nil {
		return err
	}
	running.Go(func() {
		defer f.Stop()
		from.Fail(f.Follow(ctx, from))
	})
	return nil
}

// followFleet follows the Deployment as one of many objects or, if several is false, as the only one.
func (f *followers) followFleet(ctx context.Context, c *kube.Factory, running *sync.WaitGroup, who string, several bool, ended func(error)) error {
	from := Source{Target: Target{Kind: web().Kind, Namespace: "ns"}, Show: func(s Observation) error { f.show(who, inShort(s.Report)); return nil }, Fail: ended}
	return followSource(ctx, c, running, Extent{Depth: Reasons, Competitors: true}, from, several)
}

func asJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // reports can always be marshaled
	}
	return string(data)
}

func podsOf(r status.Report) string {
	var all []string
	for _, pod := range r.Pods {
		all = append(all, fmt.Sprint(pod.Name, " ", pod.Ready))
	}
	return fmt.Sprint(all)
}

// inShort formats the parts of a report that a table shows.
func inShort(r status.Report) string {
	return fmt.Sprintln(r.Verdict, r.ReasonCode, asJSON(r.Replicas))
}

// inFull formats the parts of a report that a screen shows.
func inFull(r status.Report) string {
	var codes []string
	for _, problem := range r.Problems {
		codes = append(codes, fmt.Sprint(problem.Code, problem.Pods))
	}
	return fmt.Sprintln(inShort(r), podsOf(r), codes, asJSON(r.Tree))
}

// Each follower shows the same state as a new read, even if watches fail or are forbidden.
func TestWhatFollowsIsWhatAReadSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) { followThroughChaos(t, rand.New(rand.NewPCG(seed, seed))) })
		})
	}
}

func followThroughChaos(t *testing.T, random *rand.Rand) {
	ctx, stop := context.WithCancel(t.Context())
	s := serveWeb(t, 1)
	// Without this permission, the followers notice changes later.
	forbidden := pick(random, "", "", "watch pods", "watch pods", "watch replicasets", "watch events", "watch nodes")
	s.forbid(forbidden)
	unread := fmt.Sprint([]string{})
	if forbidden == "watch pods" {
		unread = fmt.Sprint([]string{"changes of pods"})
	}
	c := s.factory()
	f := &followers{shown: map[string]string{}}
	var running sync.WaitGroup
	if err := f.follow(ctx, c, &running); err != nil {
		t.Fatal(err)
	}
	for step := range 20 {
		// This is long enough for all retries, but shorter than the backstop.
		pass(backstop / 2)
		e, _, err := Read(ctx, c, web(), Extent{Depth: Reasons})
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		short := inShort(status.NewReport(e))
		want := map[string]string{"wait": inFull(status.NewReport(e)), "fleet": short, "fleet of one": short, "pods": podsOf(status.NewReport(e)), "what is not read": unread}
		for who, what := range want {
			if f.shown[who] != what {
				t.Errorf("step %d: %s shows\n%s\nand a read says\n%s", step, who, f.shown[who], what)
			}
		}
		if len(f.faults) > 0 {
			t.Error(f.faults)
		}
		f.mu.Unlock()
		if t.Failed() {
			break
		}
		resource := pick(random, "", "pods", "replicasets", "deployments", "nodes", "events")
		stalled := random.IntN(8) == 0
		if stalled {
			s.Stall(resource)
		}
		for range random.IntN(4) {
			s.changeAnything(t, random)
		}
		switch random.IntN(6) {
		case 0:
			s.EndWatches(resource, nil)
		case 1:
			s.EndWatches(resource, apierrors.NewInternalError(errors.New("etcd is away")))
		case 2:
			s.Expire()
		case 3:
			s.EndWatches("", nil)
			s.Expire()
		}
		if stalled {
			pass(3 * time.Second)
			s.Stall()
		}
	}
	stop()
	running.Wait()
}

func pick(random *rand.Rand, all ...string) string { return all[random.IntN(len(all))] }

// changeAnything changes or removes a random object, which can be unrelated to the Deployment.
func (s *server) changeAnything(t *testing.T, random *rand.Rand) {
	set := pick(random, "web-1", "web-2", "alien")
	switch random.IntN(6) {
	case 0:
		s.put(deployment(t, random.IntN(4), random.IntN(4)))
	case 1:
		obj := replicaSet(t, set, random.IntN(4), random.IntN(4))
		if set == "alien" {
			obj.SetOwnerReferences(nil)
		}
		s.put(obj)
	case 2:
		if all := s.List("replicasets", "ns"); len(all) > 0 {
			s.remove(all[random.IntN(len(all))])
		}
		for _, pod := range s.List("pods", "ns") {
			if pod.GetDeletionTimestamp() != nil { // the garbage collector deletes it
				s.remove(pod)
			}
		}
	case 3:
		if all := s.List("pods", "ns"); len(all) > 0 {
			s.remove(all[random.IntN(len(all))])
		}
	case 4:
		s.put(parse(t, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: %q}]}}", pick(random, "True", "Unknown"))))
	default:
		pod := podOf(t, set, random.IntN(4), random.IntN(2) == 0)
		if random.IntN(2) == 0 {
			pod = probe(t, pod, random.IntN(2))
		}
		s.put(pod)
	}
	if pods := s.List("pods", "ns"); len(pods) > 0 && random.IntN(3) == 0 {
		pod := pods[random.IntN(len(pods))]
		s.put(parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %[1]s, namespace: ns, uid: event-%[1]s}, type: Warning, reason: %[3]s, message: it fails,
			involvedObject: {kind: Pod, name: %[1]s, namespace: ns, uid: %[2]s}, lastTimestamp: %[4]q, count: 3}`,
			pod.GetName(), pod.GetUID(), pick(random, "Unhealthy", "FailedMount"), time.Now().UTC().Format(time.RFC3339))))
	}
}
