package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

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
func TestFollowersMatchFreshRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) { followThroughChaos(t, rand.New(rand.NewPCG(seed, seed))) })
		})
	}
}

// followThroughChaos follows the Deployment web in all the ways in which commands follow objects: in a wait
// ("status NAME -w", and verbs that wait), as one of many objects ("status -w"), as a single object without a
// terminal, and for its pods ("logs -f").
func followThroughChaos(t *testing.T, random *rand.Rand) {
	s := serveWeb(t, 1)
	// Without this permission, the followers notice changes later.
	forbidden := pick(random, "", "", "watch pods", "watch pods", "watch replicasets", "watch events", "watch nodes")
	s.forbid(forbidden)
	var unread []string
	if forbidden == "watch pods" {
		unread = []string{"changes of pods"}
	}
	newest := 0
	var shown atomic.Pointer[status.Report] // by the wait
	w := &Waiter{Closely: true, Connection: &follow.Connection{Changed: func(time.Time) {}}, Show: func(o Observation) {
		version, err := strconv.Atoi(o.Object.GetResourceVersion())
		if err != nil || version < newest {
			t.Errorf("shown resourceVersion %d, after %d: %v", version, newest, err)
		}
		newest = version
		shown.Store(&o.Report)
	}}
	fleet := s.follower(t, closely(), true, false)
	one := s.follower(t, closely(), false, false)
	pods := s.follower(t, Extent{Depth: Below}, false, true)
	running := []*waiting{
		s.waitFor(t, w, web(), Condition{What: "to be never", Tree: true, Met: never().Met}),
		fleet.follow(t.Context(), allDeployments()),
		one.follow(t.Context(), allDeployments()),
		pods.follow(t.Context(), web()),
	}
	c := s.clients()
	for step := range 20 {
		// This is long enough for all retries, but shorter than the backstop.
		pass(backstop / 2)
		snapshot, _, err := Read(t.Context(), c, web(), Extent{Depth: Reasons})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the followers continued during the read
		r, waited := status.NewReport(snapshot), *shown.Load()
		for who, test := range map[string]struct {
			shown  status.Report
			format func(status.Report) string
		}{
			"the wait":                     {waited, inFull},
			"the follower of many objects": {fleet.last(), inShort},
			"the follower of one object":   {one.last(), inShort},
			"the follower of pods":         {pods.last(), podsOf},
		} {
			if got, want := test.format(test.shown), test.format(r); got != want {
				t.Errorf("step %d: %s shows\n%s\nbut a fresh read gives\n%s", step, who, got, want)
			}
		}
		if !slices.Equal(waited.Unread, unread) {
			t.Errorf("step %d: Unread = %v, want %v", step, waited.Unread, unread)
		}
		if slices.ContainsFunc(running, (*waiting).over) || len(fleet.failed)+len(one.failed)+len(pods.failed) > 0 {
			t.Errorf("step %d: a follower has ended or failed: errors %v, %v, %v", step, fleet.failed, one.failed, pods.failed)
		}
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
}

func pick(random *rand.Rand, all ...string) string { return all[random.IntN(len(all))] }

// changeAnything creates, changes, or removes a random object, which might be unrelated to the Deployment.
func (s *server) changeAnything(t *testing.T, random *rand.Rand) {
	owner := pick(random, "web-1", "web-2", "alien")
	switch random.IntN(6) {
	case 0:
		s.put(deployment(t, random.IntN(4), random.IntN(4)))
	case 1:
		obj := replicaSet(t, owner, random.IntN(4), random.IntN(4))
		if owner == "alien" {
			obj.SetOwnerReferences(nil)
		}
		s.put(obj)
	case 2:
		if all := s.List("replicasets", "ns"); len(all) > 0 {
			s.remove(all[random.IntN(len(all))])
		}
		for _, pod := range s.List("pods", "ns") {
			if pod.GetDeletionTimestamp() != nil { // deleted by the garbage collector
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
		pod := podOf(t, owner, random.IntN(4), random.IntN(2) == 0)
		if random.IntN(2) == 0 {
			pod = probe(t, pod, random.IntN(2))
		}
		s.put(pod)
	}
	if pods := s.List("pods", "ns"); len(pods) > 0 && random.IntN(3) == 0 {
		pod := pods[random.IntN(len(pods))]
		name, reason := pod.GetName(), pick(random, "Unhealthy", "FailedMount")
		failure := event(t, "event-"+name, "Pod", name, reason, "it fails")
		s.put(set(t, failure, time.Now().UTC().Format(time.RFC3339), "lastTimestamp"))
	}
}
