package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/reconciler"
)

func TestCountShows(t *testing.T) {
	t.Parallel()
	set := Child{Desired: new(int32(1))}
	for name, test := range map[string]struct {
		object   Object
		pods     int
		children []Child
		want     bool
	}{
		"/scale tells it":                  {Object{Counts: Counts{Desired: 2, ScaleCount: new(int32(2))}}, 0, nil, true},
		"/scale tells another":             {Object{Counts: Counts{Desired: 2, ScaleCount: new(int32(1))}}, 2, nil, false},
		"the status counts":                {Object{Counts: Counts{Desired: 2}}, 0, nil, true},
		"as many pods":                     {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, nil, true},
		"fewer pods":                       {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 1, nil, false},
		"as many pods of one set":          {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, []Child{set}, true},
		"as many pods of two sets":         {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, []Child{set, set}, false},
		"the status counts, for two sets":  {Object{Counts: Counts{Desired: 2}}, 0, []Child{set, set}, true},
		"as many as all groups":            {Object{Counts: Counts{Desired: 2, Several: true, Total: new(int32(3))}}, 3, nil, false},
		"as many as the group wants":       {Object{Counts: Counts{Desired: 2, Several: true, Count: ".a", Groups: []Group{{Path: ".a", label: "group"}}}}, 3, nil, true},
		"as many as one of several groups": {Object{Counts: Counts{Desired: 2, Several: true, Total: new(int32(3))}}, 2, nil, false},
		"nobody knows of how many":         {Object{Counts: Counts{Desired: 2, Several: true}}, 2, nil, false},
		"units":                            {Object{Counts: Counts{Desired: 2, Unit: "shard", Total: new(int32(2))}}, 2, nil, false},
	} {
		if got := (&view{Snapshot: Snapshot{Object: test.object, Children: test.children}, report: Report{Pods: make([]problem.Pod, test.pods)}}).countShows(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// A pod that the object owns directly and that was created after the change shows that the controller has
// seen the change.
func TestPodMadeSince(t *testing.T) {
	t.Parallel()
	changed := lookedAt().Add(-10 * time.Second)
	by := reconciler.Reconciler{Spec: &fieldpath.Write{Time: metav1.NewTime(changed)}}
	for name, test := range map[string]struct {
		made time.Time
		of   types.UID
		want bool
	}{
		"after":              {changed.Add(time.Second), "it", true},
		"in the same second": {changed, "it", false},
		"further below":      {changed.Add(time.Second), "set", false},
		"without an owner":   {changed.Add(time.Second), "", false},
	} {
		r := Report{Reconciler: by, Pods: []problem.Pod{{UID: "a", Owner: "it", Created: changed.Add(-time.Hour)}, {UID: "b", Owner: test.of, Created: test.made}}}
		if got := (&view{Snapshot: Snapshot{Object: Object{Identity: Identity{UID: "it"}, Evidence: Evidence{Generation: 2, Managers: wrote("", 10, 0)}}}, report: r}).changeSeen(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// A write through /scale has no time, so the time of the first snapshot with this spec is used. The
// first generation is not a change.
func TestTimeOfAChange(t *testing.T) {
	t.Parallel()
	made := lookedAt().Add(-time.Hour)
	managers := []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}}
	for generation, want := range map[int64]time.Duration{1: time.Hour, 2: time.Second} {
		o := Object{Identity: Identity{Created: made}, Evidence: Evidence{Generation: generation, Managers: managers}}
		if since, known := (&view{Snapshot: Snapshot{Object: o, Now: lookedAt(), Since: lookedAt().Add(-time.Second)}}).sinceChange(); since != want || !known {
			t.Errorf("generation %d: changed %s ago (%t), want %s", generation, since, known, want)
		}
	}
}

// A controller may write the desired count to the status before it acts. Shortly after a change,
// the children show whether it has acted.
func TestCountThatIsOnlyWritten(t *testing.T) {
	t.Parallel()
	now := lookedAt()
	set := func(n int32) Child {
		return Child{Kind: "Set", Name: "s", UID: "s", Controller: "it", Desired: &n, Current: &n, Ready: &n}
	}
	for name, test := range map[string]struct {
		counted bool
		below   bool
		since   time.Duration
		set     Child
		want    problem.Code
	}{
		"the set has the old count":              {true, false, time.Second, set(4), problem.CodeChangeNotSeen},
		"the set has none":                       {true, false, time.Second, set(0), problem.CodeChangeNotSeen},
		"the set has the new count":              {true, false, time.Second, set(1), problem.CodeReady},
		"the set has another count, and changed": {true, true, time.Second, set(4), problem.CodeReady},
		"the set has another count for long":     {true, false, 11 * time.Second, set(4), problem.CodeReady},
		"nobody changed the count":               {false, false, time.Second, set(4), problem.CodeReady},
	} {
		o := Object{Identity: Identity{UID: "it", Foreign: true}, Counts: Counts{Desired: 1, Current: 1, Ready: 1}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2, Managers: wrote("", 3600, 1)}}
		r := NewReport(Snapshot{Object: o, Pods: problem.Pods{}, Children: []Child{test.set}, Now: now, Since: now.Add(-test.since), Counted: test.counted, ActedBelow: test.below})
		if r.ReasonCode != test.want || test.want == problem.CodeChangeNotSeen && r.Recheck != absentAfter-test.since {
			t.Errorf("%s: %s (%s): %s, again after %s; want %s", name, r.Verdict, r.ReasonCode, r.Reason, r.Recheck, test.want)
		}
	}
}

func TestCountBelow(t *testing.T) {
	t.Parallel()
	set := func(n int32, controller types.UID) Child { return Child{Controller: controller, Desired: &n} }
	for name, test := range map[string]struct {
		object   Object
		pods     int
		children []Child
		want     bool
	}{
		"nothing is to be seen":      {Object{Counts: Counts{Desired: 3}}, 0, nil, true},
		"as many pods":               {Object{Counts: Counts{Desired: 3}}, 3, nil, true},
		"too many pods":              {Object{Counts: Counts{Desired: 3}}, 4, nil, false},
		"one set of as many":         {Object{Counts: Counts{Desired: 3}}, 0, []Child{set(3, "it"), set(1, "it")}, true},
		"a set for each":             {Object{Counts: Counts{Desired: 2}}, 0, []Child{set(1, "it"), set(1, "it")}, true},
		"a set of another, no pods":  {Object{Counts: Counts{Desired: 3}}, 0, []Child{set(3, "that")}, true},
		"a set of another, one pod":  {Object{Counts: Counts{Desired: 3}}, 1, []Child{set(3, "that")}, false},
		"a set of another count":     {Object{Counts: Counts{Desired: 3}}, 5, []Child{set(5, "it")}, false},
		"units":                      {Object{Counts: Counts{Desired: 3, Unit: "shard"}}, 5, []Child{set(5, "it")}, true},
		"nobody knows how many":      {Object{Counts: Counts{Desired: 3, NoCount: true}}, 5, []Child{set(5, "it")}, true},
		"none, and a set of another": {Object{}, 2, []Child{set(2, "that")}, false},
	} {
		test.object.UID = "it"
		if got := (&view{Snapshot: Snapshot{Object: test.object, Children: test.children}, report: Report{Pods: make([]problem.Pod, test.pods)}}).countBelow(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
