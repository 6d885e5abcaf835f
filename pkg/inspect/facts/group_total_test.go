package facts

import (
	"math"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// A shard has one pod or, if there is a replica count, that number of pods. An implausible total is ignored.
func TestPodsOfShards(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, test := range []struct {
		shards int32
		path   string
		each   int64
		want   int32
	}{
		{3, ".spec.size", 5, 3},
		{3, ".spec.replicasPerShard", 2, 6},
		{3, ".spec.replicas", 0, 0},
		{3, ".spec.replicas", -1, none},
		{1, ".spec.replicas", 1 << 30, 1 << 30},
		{2, ".spec.replicas", 1 << 30, none},
		{4, ".spec.replicas", 1 << 62, none},
		{2, ".spec.replicas", math.MaxInt64, none},
	} {
		got := ofShards(status.Object{Counts: status.Counts{Desired: test.shards, OtherCounts: []status.OtherCount{{Path: test.path, Value: test.each}}}})
		if (got == nil) != (test.want == none) || got != nil && *got != test.want {
			t.Errorf("%d shards with %s=%d have %v pods, want %d", test.shards, test.path, test.each, got, test.want)
		}
	}
}

// The total is the sum of all groups of the same form, each multiplied by its number of shards.
func TestPodsOfAllGroups(t *testing.T) {
	t.Parallel()
	const none = -1
	type object = map[string]any
	list := func(elements ...any) object { return object{"spec": object{"groups": elements}} }
	for name, test := range map[string]struct {
		content object
		path    string
		beside  []status.OtherCount
		want    int32
	}{
		"a list":                      {list(object{"count": int64(3)}, object{"count": int64(2)}), ".spec.groups[0].count", nil, 5},
		"one of them has no count":    {list(object{"count": int64(3)}, object{}, "text"), ".spec.groups[0].count", nil, 3},
		"none has a count":            {list(object{}), ".spec.groups[0].count", nil, none},
		"no list":                     {object{"spec": object{}}, ".spec.groups[0].count", nil, none},
		"shards in a list":            {list(object{"count": int64(3), "shards": int64(2)}, object{"count": int64(1)}), ".spec.groups[0].count", nil, 7},
		"fewer shards than one":       {list(object{"count": int64(3), "shards": int64(0)}), ".spec.groups[0].count", nil, 3},
		"shards further down":         {list(object{"of": object{"count": int64(3), "shards": int64(2)}}), ".spec.groups[0].of.count", nil, 6},
		"a list, and what is no path": {list(object{"of": "text"}, object{"of": object{"count": int64(4)}}), ".spec.groups[0].of.count", nil, 4},
		"negative":                    {list(object{"count": int64(-1)}), ".spec.groups[0].count", nil, none},
		"more than a cluster has":     {list(object{"count": int64(1 << 30)}, object{"count": int64(1)}), ".spec.groups[0].count", nil, none},
		"as many as a cluster has":    {list(object{"count": int64(1 << 30)}), ".spec.groups[0].count", nil, 1 << 30},
		"groups side by side": {
			object{"spec": object{"a": object{"replicas": int64(2)}, "b": object{"replicas": int64(3), "shards": int64(2)}}}, ".spec.a.replicas",
			[]status.OtherCount{{Path: ".spec.b.replicas", Value: 3}, {Path: ".spec.c.size", Value: 9}, {Path: "[", Value: 9}}, 8,
		},
		"one that is not there": {
			object{"spec": object{"b": object{"replicas": int64(3)}}}, ".spec.a.replicas",
			[]status.OtherCount{{Path: ".spec.b.replicas", Value: 3}}, none,
		},
		"no object around it": {object{"replicas": int64(3), "shards": int64(2)}, ".replicas", nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := fieldpath.ParseSteps(test.path)
			if err != nil {
				t.Fatal(err)
			}
			got := total(test.content, path, test.beside)
			if (got == nil) != (test.want == none) || got != nil && *got != test.want {
				t.Errorf("%v, want %d", got, test.want)
			}
		})
	}
}
