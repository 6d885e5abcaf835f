package fieldpath

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func parse(t *testing.T, s string) Path {
	t.Helper()
	p, err := ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		".spec.replicas":                             ".spec.replicas",
		"spec.replicas":                              ".spec.replicas",
		"$.spec.size":                                ".spec.size",
		"{.spec.size}":                               ".spec.size",
		" { $.spec.size } ":                          ".spec.size",
		"$['spec']['size']":                          ".spec.size",
		".spec.node-pools.count_2":                   ".spec.node-pools.count_2",
		".spec.AtoZ.A.Z.0to9.0.9":                    ".spec.AtoZ.A.Z.0to9.0.9",
		`.spec.a[? (@.on==false)].n`:                 `.spec.a[?(@.on==false)].n`,
		".spec['a.b'].c":                             `.spec["a.b"].c`,
		`.spec["a.b"].c`:                             `.spec["a.b"].c`,
		`.spec.a\.b.c`:                               `.spec["a.b"].c`,
		`.spec.example\.com/pool`:                    `.spec["example.com/pool"]`,
		`.spec['it\'s'].c`:                           `.spec["it's"].c`,
		`.spec["a\"b\\"].c`:                          `.spec["a\"b\\"].c`,
		`.spec['']`:                                  `.spec[""]`,
		".spec.größe":                                `.spec["größe"]`,
		".spec.tasks[0].replicas":                    ".spec.tasks[0].replicas",
		".spec.tasks[ 007 ].replicas":                ".spec.tasks[7].replicas",
		".spec.counts[1]":                            ".spec.counts[1]",
		`.spec.nodeSets[?(@.name=="hot")].count`:     `.spec.nodeSets[?(@.name=="hot")].count`,
		`{.spec.nodeSets[?(@.name == 'hot')].count}`: `.spec.nodeSets[?(@.name=="hot")].count`,
		`.spec.nodeSets[?@.name=='hot'].count`:       `.spec.nodeSets[?(@.name=="hot")].count`,
		`.spec.a[?(@.b.c=="d" && @['e.f'] == -3)].n`: `.spec.a[?(@.b.c=="d" && @["e.f"]==-3)].n`,
		`.spec.a[?(@.on==true)].b[?(@.name==")]\\")].replicas`: `.spec.a[?(@.on==true)].b[?(@.name==")]\\")].replicas`,
	} {
		p, err := ParsePath(s)
		if err != nil {
			t.Errorf("ParsePath(%s): %v", s, err)
			continue
		}
		if p.String() != want {
			t.Errorf("ParsePath(%s) = %s, want %s", s, p, want)
		}
		if again, err := ParsePath(p.String()); err != nil || !reflect.DeepEqual(again.Steps, p.Steps) {
			t.Errorf("ParsePath(%s) = %v, %v, want the same steps", p, again, err)
		}
	}
}

func TestParsePathRefuses(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":                                       "empty",
		" ":                                      "empty",
		"$":                                      "empty",
		".":                                      "empty",
		"{}":                                     "empty",
		"{.spec.a":                               "closing } is missing",
		".spec":                                  "all of .spec",
		".metadata.generation":                   ".metadata is outside .spec",
		".status.replicas":                       ".status is outside .spec",
		".kind":                                  ".kind is outside .spec",
		"['apiVersion']":                         ".apiVersion is outside .spec",
		"replicas":                               ".replicas is outside .spec",
		"[0].spec":                               "[0] is outside .spec",
		".spec.*":                                "wildcard",
		".spec.sets[*].count":                    "wildcard",
		".spec..count":                           "recursive descent",
		"..replicas":                             "recursive descent",
		".spec.sets[0:2].count":                  "slice",
		".spec.sets[:2].count":                   "slice",
		".spec.sets[0,1].count":                  "union",
		".spec['a','b']":                         "union",
		".spec.sets[-1].count":                   "cannot be negative",
		".spec.sets[99999999999999999999].count": "too high",
		".spec.sets[(@.length-1)].count":         "functions",
		".spec.sets.length()":                    "functions",
		".spec.sets[?(@.tags.length()==1)].n":    "functions",
		".spec.sets[?(length(@.tags)==1)].n":     "a filter compares keys",
		`.spec.sets[?(@.name!="a")].count`:       "a filter compares keys",
		`.spec.sets[?(@.n>3)].count`:             "a filter compares keys",
		`.spec.sets[?(@.name=~"a")].count`:       "a filter compares keys",
		`.spec.sets[?(@.name)].count`:            "a filter compares keys",
		`.spec.sets[?(@=="a")].count`:            "a filter compares keys",
		`.spec.sets[?(@.a[0]=="a")].count`:       "a filter compares keys",
		`.spec.sets[?(@.a=="a"||@.b=="b")].n`:    "a filter compares keys",
		`.spec.sets[?(@.a=="a" && )].n`:          "a filter compares keys",
		`.spec.sets[?()].n`:                      "a filter compares keys",
		`.spec.sets[?(@.a=="a"].n`:               "a filter compares keys",
		`.spec.sets[?(@.a=="a")`:                 "a filter compares keys",
		`.spec.sets[?(@.name==hot)].count`:       `not with "hot"`,
		`.spec.sets[?(@.n==1.5)].count`:          "a filter compares keys",
		`.spec.sets[?(@.name=="a")]`:             "ends with an element",
		`.spec.sets[?(@.name=="hot)].count`:      "is not closed",
		".spec['a":                               "is not closed",
		".spec[":                                 "an index, a name in quotes or a filter is missing at the end",
		".spec[a]":                               `an index, a name in quotes or a filter is missing before "a]"`,
		".spec[0":                                "] is missing at the end",
		".spec.":                                 "the name of a field is missing at the end",
		".spec.a b":                              `. or [ is missing before " b"`,
		".spec.a]":                               `. or [ is missing before "]"`,
		".spec.a}{.spec.b":                       `. or [ is missing before "}{.spec.b"`,
		`.spec.a\`:                               "follows the last backslash",
		".spec.a\xff":                            "UTF-8",
	} {
		if p, err := ParsePath(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePath(%s) = %v, %v, want an error with %q", s, p, err, want)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"", ".spec.replicas", "{$.spec['a.b'].c}", `.spec.a\.b`, `.spec.a[0].b[?(@.name=="x" && @.n==-3)].c`, "..*[1:2,3]", `$["spec"][?(@['']==true)].é`} {
		f.Add(s)
	}
	obj := map[string]any{"spec": map[string]any{"replicas": int64(3), "a": []any{nil, map[string]any{"name": "x", "n": int64(-3)}}}}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		again, err := ParsePath(p.String())
		if err != nil || !reflect.DeepEqual(again.Steps, p.Steps) || again.String() != p.String() {
			t.Errorf("ParsePath(%q) = %q, which parses as %q, %v", s, p, again, err)
		}
		if _, _, err := p.Get(obj); err == nil {
			_, _ = Patch(obj, Edit{p, int64(1)}) // must not panic
		}
	})
}

const cluster = `
metadata: {name: foo, resourceVersion: "7"}
spec:
  replicas: 3
  whole: 4.0
  half: 4.5
  huge: 1e30
  text: "3"
  enabled: true
  nothing: null
  negative: -2
  a.b: {c/d~e: 5}
  counts: [1, 2]
  empty: []
  sets:
  - {name: hot, zone: 1, count: 3}
  - {name: warm, zone: 1}
  - {name: cold, zone: 2, count: 7, enabled: true, at: {host: h}}
  - {name: twin, count: 1}
  - {name: twin, count: 1}
  - {name: whole, zone: 3.0, count: 8}
  - null
  - text
`

func TestGet(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		n     int64
		found bool
		err   string
	}{
		".spec.replicas":                              {3, true, ""},
		".spec.whole":                                 {4, true, ""},
		".spec.negative":                              {-2, true, ""},
		`.spec.a\.b.c/d~e`:                            {5, true, ""},
		".spec.counts[1]":                             {2, true, ""},
		".spec.sets[2].count":                         {7, true, ""},
		`.spec.sets[?(@.name=="hot")].count`:          {3, true, ""},
		`.spec.sets[?(@.zone==2)].count`:              {7, true, ""},
		`.spec.sets[?(@.zone==3)].count`:              {8, true, ""}, // the element has zone 3.0
		`.spec.sets[?(@.enabled==true)].count`:        {7, true, ""},
		`.spec.sets[?(@.at.host=="h")].count`:         {7, true, ""},
		`.spec.sets[?(@.zone==1 && @.name=="hot")].n`: {0, false, ""},
		".spec.nothing":                               {0, false, ""},
		".spec.nothing.replicas":                      {0, false, ""},
		".spec.nothing[0]":                            {0, false, ""},
		".spec.absent":                                {0, false, ""},
		".spec.absent.replicas":                       {0, false, ""},
		".spec.counts[2]":                             {0, false, ""},
		".spec.empty[0].count":                        {0, false, ""},
		`.spec.sets[?(@.name=="warm")].count`:         {0, false, ""},
		`.spec.sets[?(@.name=="none")].count`:         {0, false, ""},
		`.spec.sets[?(@.zone=="2")].count`:            {0, false, ""},
		`.spec.sets[?(@.name=="twin")].count`:         {0, false, `.spec.sets[?(@.name=="twin")] matches 2 fields: use a filter`},
		// The path matches two elements, so it is ambiguous.
		`.spec.sets[?(@.zone==1)].count`:     {0, false, "matches 2 fields"},
		".spec.sets.count":                   {0, false, ".spec.sets is a list: select one of its elements by a key"},
		".spec.replicas.count":               {0, false, ".spec.replicas is 3, not an object"},
		".spec.replicas[0]":                  {0, false, ".spec.replicas is 3, not a list"},
		`.spec.a\.b[?(@.name=="hot")].count`: {0, false, "is an object, not a list"},
		`.spec.sets[7].count`:                {0, false, `.spec.sets[7] is the string "text", not an object`},
		".spec.text":                         {0, false, `.spec.text is the string "3", not an integer`},
		".spec.enabled":                      {0, false, ".spec.enabled is the boolean true, not an integer"},
		".spec.half":                         {0, false, ".spec.half is 4.5, not an integer"},
		".spec.huge":                         {0, false, ".spec.huge is 1e+30, not an integer"},
		".spec.sets":                         {0, false, ".spec.sets is a list, not an integer"},
		".spec.sets[0]":                      {0, false, ".spec.sets[0] is an object, not an integer"},
	} {
		n, found, err := parse(t, path).Get(objects.Parse(t, cluster))
		if n != want.n || found != want.found || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("Get of %s = %d, %t, %v, want %+v", path, n, found, err, want)
		}
	}
	for _, obj := range []map[string]any{nil, {}, {"spec": nil}, {"spec": map[string]any{}}} {
		if n, found, err := parse(t, ".spec.replicas").Get(obj); n != 0 || found || err != nil {
			t.Errorf("Get = %d, %t, %v from %v, want no value", n, found, err, obj)
		}
	}
	for value, want := range map[float64]int64{4: 4, -2: -2, math.MinInt64: math.MinInt64, 1 << 62: 1 << 62} {
		if n, found, err := parse(t, ".spec.n").Get(map[string]any{"spec": map[string]any{"n": value}}); n != want || !found || err != nil {
			t.Errorf("Get of %g = %d, %t, %v, want %d", value, n, found, err, want)
		}
	}
	for _, value := range []float64{0.5, math.NaN(), math.Inf(1), math.Inf(-1), 1 << 63, -1 << 64} {
		if n, _, err := parse(t, ".spec.n").Get(map[string]any{"spec": map[string]any{"n": value}}); err == nil {
			t.Errorf("Get of %g = %d, want an error", value, n)
		}
	}
	if _, _, err := (Path{}).Get(objects.Parse(t, cluster)); err == nil {
		t.Error("Get of an empty path returned no error")
	}
}
