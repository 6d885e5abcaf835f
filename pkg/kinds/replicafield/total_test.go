package replicafield

import "testing"

// Counts add up, and each shard has as many pods as the count beside the shards says.
func TestTotal(t *testing.T) {
	t.Parallel()
	of := func(path string, n int64) Candidate { return Candidate{Path: path, Value: &n} }
	for name, test := range map[string]struct {
		candidates []Candidate
		want       int32 // -1: not known
	}{
		"none":                     {nil, -1},
		"none with a value":        {[]Candidate{{Path: ".spec.replicas"}}, -1},
		"one":                      {[]Candidate{of(".spec.replicas", 3)}, 3},
		"zero":                     {[]Candidate{of(".spec.replicas", 0)}, 0},
		"groups":                   {[]Candidate{of(".spec.a.replicas", 3), of(".spec.b.replicas", 2)}, 5},
		"shards of replicas":       {[]Candidate{of(".spec.shards", 3), of(".spec.replicas", 2)}, 6},
		"shards alone":             {[]Candidate{of(".spec.shards", 3)}, 3},
		"shards of another group":  {[]Candidate{of(".spec.a.shards", 3), of(".spec.b.replicas", 2)}, 5},
		"no shards, as not shared": {[]Candidate{of(".spec.shards", 0), of(".spec.replicas", 2)}, 2},
		"clusters of a list": {[]Candidate{
			of(`.spec.clusters[?(@.name=="a")].layout.replicasCount`, 2), of(`.spec.clusters[?(@.name=="a")].layout.shardsCount`, 3),
			of(`.spec.clusters[?(@.name=="b")].layout.replicasCount`, 1),
		}, 7},
		"less than none":   {[]Candidate{of(".spec.replicas", -1)}, -1},
		"more than can be": {[]Candidate{of(".spec.shards", 1<<30), of(".spec.replicas", 1<<30)}, -1},
	} {
		got := int32(-1)
		if total := Total(test.candidates); total != nil {
			got = *total
		}
		if got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
