package candidates

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

func pathOf(t *testing.T, word string) fieldpath.Path {
	t.Helper()
	path, err := fieldpath.ParsePath(word)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGroup(t *testing.T) {
	t.Parallel()
	sets := []Field{{Path: pathOf(t, `.spec.nodeSets[?(@.name=="hot")].count`)}, {Path: pathOf(t, `.spec.nodeSets[?(@.name=="cold")].count`)}, {Path: pathOf(t, ".spec.nodeSets[2].count")}}
	fields := []Field{{Path: pathOf(t, ".spec.vmselect.replicaCount")}, {Path: pathOf(t, ".spec.vminsert.replicaCount")}, {Path: pathOf(t, ".spec.replicas")}}
	several := []Field{{Path: pathOf(t, `.spec.clusters[?(@.name=="a")].layout.shardsCount`)}, {Path: pathOf(t, `.spec.clusters[?(@.name=="a")].layout.replicasCount`)}}
	for name, test := range map[string]struct {
		candidates      []Field
		group, want, no string
	}{
		"an element":          {sets, "hot", `.spec.nodeSets[?(@.name=="hot")].count`, ""},
		"a field":             {fields, "vminsert", ".spec.vminsert.replicaCount", ""},
		"no such element":     {sets, "warm", "", `no group "warm": the groups are cold, hot`},
		"the name of a list":  {sets, "nodeSets", "", `no group "nodeSets"`},
		"no group at all":     {fields[2:], "spec", "", "the spec has no groups"},
		"two counts of one":   {several, "a", "", "has several counts"},
		"what holds a count":  {several[:1], "layout", `.spec.clusters[?(@.name=="a")].layout.shardsCount`, ""},
		"a pattern is no one": {[]Field{{Path: pathOf(t, `.spec.nodeSets[?(@.name=="<NAME>")].count`), Pattern: true}}, "<NAME>", "", "no groups"},
	} {
		path, err := Group(test.candidates, test.group)
		switch {
		case test.no == "" && (err != nil || path.String() != test.want):
			t.Errorf("%s: %s (%v), want %s", name, path, err, test.want)
		case test.no != "" && (err == nil || !strings.Contains(err.Error(), test.no)):
			t.Errorf("%s: %s (%v), want an error with %q", name, path, err, test.no)
		}
	}
}

// Total adds the counts of all groups. It multiplies the counts of a group by its number of shards.
func TestTotal(t *testing.T) {
	t.Parallel()
	of := func(at string, n int64) Field { return Field{Path: pathOf(t, at), Value: &n} }
	for name, test := range map[string]struct {
		candidates []Field
		want       int32 // -1 if it is unknown
	}{
		"none":                     {nil, -1},
		"none with a value":        {[]Field{{Path: pathOf(t, ".spec.replicas")}}, -1},
		"one":                      {[]Field{of(".spec.replicas", 3)}, 3},
		"zero":                     {[]Field{of(".spec.replicas", 0)}, 0},
		"groups":                   {[]Field{of(".spec.a.replicas", 3), of(".spec.b.replicas", 2)}, 5},
		"shards of replicas":       {[]Field{of(".spec.shards", 3), of(".spec.replicas", 2)}, 6},
		"shards alone":             {[]Field{of(".spec.shards", 3)}, 3},
		"shards of another group":  {[]Field{of(".spec.a.shards", 3), of(".spec.b.replicas", 2)}, 5},
		"no shards, as not shared": {[]Field{of(".spec.shards", 0), of(".spec.replicas", 2)}, 2},
		"clusters of a list": {[]Field{
			of(`.spec.clusters[?(@.name=="a")].layout.replicasCount`, 2), of(`.spec.clusters[?(@.name=="a")].layout.shardsCount`, 3),
			of(`.spec.clusters[?(@.name=="b")].layout.replicasCount`, 1),
		}, 7},
		"less than none":   {[]Field{of(".spec.replicas", -1)}, -1},
		"more than can be": {[]Field{of(".spec.shards", 1<<30), of(".spec.replicas", 1<<30)}, -1},
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
