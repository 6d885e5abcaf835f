package replicafield

import (
	"strings"
	"testing"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	sets := []Candidate{{Path: `.spec.nodeSets[?(@.name=="hot")].count`}, {Path: `.spec.nodeSets[?(@.name=="cold")].count`}, {Path: ".spec.nodeSets[2].count"}}
	fields := []Candidate{{Path: ".spec.vmselect.replicaCount"}, {Path: ".spec.vminsert.replicaCount"}, {Path: ".spec.replicas"}}
	several := []Candidate{{Path: `.spec.clusters[?(@.name=="a")].layout.shardsCount`}, {Path: `.spec.clusters[?(@.name=="a")].layout.replicasCount`}}
	for name, test := range map[string]struct {
		candidates      []Candidate
		group, want, no string
	}{
		"an element":          {sets, "hot", `.spec.nodeSets[?(@.name=="hot")].count`, ""},
		"a field":             {fields, "vminsert", ".spec.vminsert.replicaCount", ""},
		"no such element":     {sets, "warm", "", `no group "warm": the groups are cold, hot`},
		"the name of a list":  {sets, "nodeSets", "", `no group "nodeSets"`},
		"no group at all":     {fields[2:], "spec", "", "the spec has no groups"},
		"two counts of one":   {several, "a", "", "has several counts"},
		"what holds a count":  {several[:1], "layout", `.spec.clusters[?(@.name=="a")].layout.shardsCount`, ""},
		"a pattern is no one": {[]Candidate{{Path: `.spec.nodeSets[?(@.name=="<NAME>")].count`, Pattern: true}}, "<NAME>", "", "no groups"},
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
