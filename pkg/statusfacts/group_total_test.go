package statusfacts

import (
	"math"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Shards have one pod each, or as many as a count of replicas beside them says. What could
// not be the pods of a cluster is not believed.
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
		got := ofShards(status.Object{Desired: test.shards, Beside: []status.Beside{{Path: test.path, Value: test.each}}})
		if (got == nil) != (test.want == none) || got != nil && *got != test.want {
			t.Errorf("%d shards with %s=%d have %v pods, want %d", test.shards, test.path, test.each, got, test.want)
		}
	}
}
