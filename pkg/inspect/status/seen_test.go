package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
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
		"/scale reports the desired count": {Object{Counts: Counts{Desired: 2, ScaleCount: new(int32(2))}}, 0, nil, true},
		"/scale reports another count":     {Object{Counts: Counts{Desired: 2, ScaleCount: new(int32(1))}}, 2, nil, false},
		"status has a ready count":         {Object{Counts: Counts{Desired: 2}}, 0, nil, true},
		"as many pods as desired":          {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, nil, true},
		"fewer pods":                       {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 1, nil, false},
		"as many pods, one workload":       {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, []Child{set}, true},
		"as many pods, two workloads":      {Object{Counts: Counts{Desired: 2, ReadyUnknown: true}}, 2, []Child{set, set}, false},
		"ready count, two workloads":       {Object{Counts: Counts{Desired: 2}}, 0, []Child{set, set}, true},
		"several groups, pods match total": {Object{Counts: Counts{Desired: 2, Several: true, Total: new(int32(3))}}, 3, nil, false},
		"several groups, one has a label":  {Object{Counts: Counts{Desired: 2, Several: true, Count: ".a", Groups: []Group{{Path: ".a", label: "group"}}}}, 3, nil, true},
		"several groups, pods match one":   {Object{Counts: Counts{Desired: 2, Several: true, Total: new(int32(3))}}, 2, nil, false},
		"several groups, unknown total":    {Object{Counts: Counts{Desired: 2, Several: true}}, 2, nil, false},
		"count of shards":                  {Object{Counts: Counts{Desired: 2, Unit: "shard", Total: new(int32(2))}}, 2, nil, false},
	} {
		if got := (&view{Snapshot: Snapshot{Object: test.object, Children: test.children}, report: Report{Pods: make([]problem.Pod, test.pods)}}).countShows(); got != test.want {
			t.Errorf("%s: countShows() = %t, want %t", name, got, test.want)
		}
	}
}

// A pod that the object owns directly and that was created after the change shows that the controller has
// seen the change.
func TestPodCreatedAfterChange(t *testing.T) {
	t.Parallel()
	changed := lookedAt().Add(-10 * time.Second)
	by := Reconciler{Spec: &fieldpath.Write{Time: metav1.NewTime(changed)}}
	for name, test := range map[string]struct {
		made time.Time
		of   types.UID
		want bool
	}{
		"created after the change":   {changed.Add(time.Second), "it", true},
		"created in the same second": {changed, "it", false},
		"owned by a child":           {changed.Add(time.Second), "set", false},
		"without an owner":           {changed.Add(time.Second), "", false},
	} {
		r := Report{Reconciler: by, Pods: []problem.Pod{{UID: "a", Owner: "it", Created: changed.Add(-time.Hour)}, {UID: "b", Owner: test.of, Created: test.made}}}
		if got := (&view{Snapshot: Snapshot{Object: Object{Identity: Identity{UID: "it"}, Evidence: Evidence{Generation: 2, Managers: writes{Spec: ago(10)}.managers()}}}, report: r}).changeSeen(); got != test.want {
			t.Errorf("%s: changeSeen() = %t, want %t", name, got, test.want)
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
		"no children and no pods":                {Object{Counts: Counts{Desired: 3}}, 0, nil, true},
		"as many pods":                           {Object{Counts: Counts{Desired: 3}}, 3, nil, true},
		"too many pods":                          {Object{Counts: Counts{Desired: 3}}, 4, nil, false},
		"one of two workloads matches":           {Object{Counts: Counts{Desired: 3}}, 0, []Child{set(3, "it"), set(1, "it")}, true},
		"sum of two workloads matches":           {Object{Counts: Counts{Desired: 2}}, 0, []Child{set(1, "it"), set(1, "it")}, true},
		"another owner's workload, no pods":      {Object{Counts: Counts{Desired: 3}}, 0, []Child{set(3, "that")}, true},
		"another owner's workload, one pod":      {Object{Counts: Counts{Desired: 3}}, 1, []Child{set(3, "that")}, false},
		"workload with another count":            {Object{Counts: Counts{Desired: 3}}, 5, []Child{set(5, "it")}, false},
		"count of shards":                        {Object{Counts: Counts{Desired: 3, Unit: "shard"}}, 5, []Child{set(5, "it")}, true},
		"unknown count":                          {Object{Counts: Counts{Desired: 3, NoCount: true}}, 5, []Child{set(5, "it")}, true},
		"zero desired, another owner's workload": {Object{}, 2, []Child{set(2, "that")}, false},
	} {
		test.object.UID = "it"
		if got := (&view{Snapshot: Snapshot{Object: test.object, Children: test.children}, report: Report{Pods: make([]problem.Pod, test.pods)}}).countBelow(); got != test.want {
			t.Errorf("%s: countBelow() = %t, want %t", name, got, test.want)
		}
	}
}
