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
		candidates       []Field
		group, want, err string
	}{
		"an element":              {sets, "hot", `.spec.nodeSets[?(@.name=="hot")].count`, ""},
		"a field":                 {fields, "vminsert", ".spec.vminsert.replicaCount", ""},
		"no such element":         {sets, "warm", "", `no group "warm": the groups are cold, hot`},
		"no such outer group":     {several, "warm", "", `no group "warm": the groups are a, layout`},
		"the name of a list":      {sets, "nodeSets", "", `no group "nodeSets"`},
		"a spec without groups":   {fields[2:], "spec", "", "the spec has no groups"},
		"a group with two counts": {several, "a", "", "has several counts"},
		"an inner group":          {several[:1], "layout", `.spec.clusters[?(@.name=="a")].layout.shardsCount`, ""},
		"only a pattern":          {[]Field{{Path: pathOf(t, `.spec.nodeSets[?(@.name=="<NAME>")].count`), Pattern: true}}, "<NAME>", "", "no groups"},
	} {
		path, err := Group(test.candidates, test.group)
		switch {
		case test.err == "" && (err != nil || path.String() != test.want):
			t.Errorf("%s: Group = %s, %v, want %s", name, path, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: Group = %s, %v, want an error with %q", name, path, err, test.err)
		}
	}
}

// Total adds the counts of all groups. It multiplies the counts of a group by its number of shards.
func TestTotal(t *testing.T) {
	t.Parallel()
	of := func(at string, n int64) Field { return Field{Path: pathOf(t, at), Value: &n} }
	var huge []Field // the product of the counts in each of four groups is 2^62
	for _, group := range []string{"a", "b", "c", "d"} {
		for _, name := range []string{"shards", "masters", "replicas", "servers", "workers"} {
			huge = append(huge, of(".spec."+group+"."+name, 1<<30))
		}
	}
	for name, test := range map[string]struct {
		candidates []Field
		want       int32 // -1 if it is unknown
	}{
		"no candidates":           {nil, -1},
		"no value":                {[]Field{{Path: pathOf(t, ".spec.replicas")}}, -1},
		"one count":               {[]Field{of(".spec.replicas", 3)}, 3},
		"a count of zero":         {[]Field{of(".spec.replicas", 0)}, 0},
		"groups":                  {[]Field{of(".spec.a.replicas", 3), of(".spec.b.replicas", 2)}, 5},
		"shards and replicas":     {[]Field{of(".spec.shards", 3), of(".spec.replicas", 2)}, 6},
		"only shards":             {[]Field{of(".spec.shards", 3)}, 3},
		"shards of another group": {[]Field{of(".spec.a.shards", 3), of(".spec.b.replicas", 2)}, 5},
		"zero shards":             {[]Field{of(".spec.shards", 0), of(".spec.replicas", 2)}, 2},
		"clusters in a list": {[]Field{
			of(`.spec.clusters[?(@.name=="a")].layout.replicasCount`, 2), of(`.spec.clusters[?(@.name=="a")].layout.shardsCount`, 3),
			of(`.spec.clusters[?(@.name=="b")].layout.replicasCount`, 1),
		}, 7},
		"negative count": {[]Field{of(".spec.replicas", -1)}, -1},
		"too high":       {[]Field{of(".spec.shards", 1<<30), of(".spec.replicas", 1<<30)}, -1},
		"overflow":       {huge, -1},
	} {
		got := int32(-1)
		if total := Total(test.candidates); total != nil {
			got = *total
		}
		if got != test.want {
			t.Errorf("%s: Total = %d, want %d", name, got, test.want)
		}
	}
}
