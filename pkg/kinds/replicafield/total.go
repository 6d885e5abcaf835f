package replicafield

import (
	"math"
	"strings"
)

// Total is how many pods some candidates mean together; nil where none has a value. A
// number of shards multiplies the counts that stand beside it.
func Total(candidates []Candidate) *int32 {
	pods, shards := map[string]int64{}, map[string]int64{}
	for _, c := range candidates {
		if c.Value == nil || *c.Value < 0 || *c.Value > math.MaxInt32 {
			continue
		}
		dot := strings.LastIndex(c.Path, ".")
		parent, name := c.Path[:max(dot, 0)], c.Path[dot+1:]
		if Unit(name) == "shard" {
			shards[parent] = *c.Value
		} else {
			pods[parent] += *c.Value
		}
	}
	sum := int64(0)
	for parent, n := range shards {
		if each, counted := pods[parent]; counted {
			pods[parent] = each * max(n, 1)
		} else {
			pods[parent] = n
		}
	}
	for _, n := range pods {
		sum += n
	}
	if len(pods) == 0 || sum < 0 || sum > math.MaxInt32 {
		return nil
	}
	return new(int32(sum))
}
