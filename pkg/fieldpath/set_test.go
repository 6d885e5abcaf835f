package fieldpath

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func TestSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ object, path, want, err string }{
		{`{}`, ".spec.replicas", `{"spec":{"replicas":5}}`, ""},
		{`{"spec":null}`, ".spec.a.b", `{"spec":{"a":{"b":5}}}`, ""},
		{`{"spec":{"replicas":1,"other":2}}`, ".spec.replicas", `{"spec":{"replicas":5,"other":2}}`, ""},
		{`{"spec":{"replicas":"one"}}`, ".spec.replicas", `{"spec":{"replicas":5}}`, ""},
		{`{}`, ".spec.sets[0].count", `{"spec":{"sets":[{"count":5}]}}`, ""},
		{`{"spec":{"sets":[{"a":1}]}}`, ".spec.sets[0].count", `{"spec":{"sets":[{"a":1,"count":5}]}}`, ""},
		{`{"spec":{"sets":[{"a":1}]}}`, ".spec.sets[1].count", `{"spec":{"sets":[{"a":1},{"count":5}]}}`, ""},
		{`{"spec":{"sets":[null]}}`, ".spec.sets[0].count", `{"spec":{"sets":[{"count":5}]}}`, ""},
		{`{"spec":{"counts":[1]}}`, ".spec.counts[1]", `{"spec":{"counts":[1,5]}}`, ""},
		{`{}`, `.spec.sets[?(@.name=="hot")].count`, `{"spec":{"sets":[{"name":"hot","count":5}]}}`, ""},
		{`{"spec":{"sets":[{"name":"hot","count":1}]}}`, `.spec.sets[?(@.name=="hot")].count`, `{"spec":{"sets":[{"name":"hot","count":5}]}}`, ""},
		{`{"spec":{"sets":[{"name":"cold"},{"name":"hot"}]}}`, `.spec.sets[?(@.name=="hot")].count`, `{"spec":{"sets":[{"name":"cold"},{"name":"hot","count":5}]}}`, ""},
		{`{"spec":{"sets":[{"name":"cold"}]}}`, `.spec.sets[?(@.name=="hot" && @.zone.id==3)].count`, `{"spec":{"sets":[{"name":"cold"},{"name":"hot","zone":{"id":3},"count":5}]}}`, ""},
		{`{}`, `.spec["a.b/c~d"]`, `{"spec":{"a.b/c~d":5}}`, ""},
		{`{}`, ".spec.sets[1].count", "", "set .spec.sets[1].count: element 1 cannot be set before element 0 exists"},
		{`{"spec":{"sets":{}}}`, ".spec.sets[0].count", "", "set .spec.sets[0].count: an object is not a list"},
		{`{"spec":{"sets":[]}}`, ".spec.sets.count", "", "set .spec.sets.count: a list is not an object"},
		{`{}`, `.spec.sets[?(@.a=="x" && @.a.b=="y")].count`, "", `set .spec.sets[?(@.a=="x" && @.a.b=="y")].count: the string "x" is not an object`},
		{`{"spec":3}`, ".spec.replicas", "", "set .spec.replicas: 3 is not an object"},
		{`{"spec":{"a":"b"}}`, ".spec.a.c", "", `set .spec.a.c: the string "b" is not an object`},
	} {
		path := parse(t, test.path)
		obj := objects.Parse(t, test.object)
		switch err := path.Set(obj, int64(5)); {
		case fmt.Sprint(err) != test.err && (err != nil || test.err != ""):
			t.Errorf("Set %s in %s: error %v, want %q", test.path, test.object, err, test.err)
		case err == nil && !reflect.DeepEqual(obj, objects.Parse(t, test.want)):
			t.Errorf("Set %s in %s: object %v, want %s", test.path, test.object, obj, test.want)
		}
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	schema := objects.Parse(t, `{"properties":{"spec":{"type":"object","properties":{
  "text":{"type":"string"},"number":{"type":"integer"},"flag":{"type":"boolean"},"ratio":{"type":"number"},
  "port":{"x-kubernetes-int-or-string":true,"type":"string"},
  "labels":{"type":"object","additionalProperties":{"type":"string"}},
  "sets":{"type":"array","items":{"type":"object","properties":{"count":{"type":"integer"},"name":{"type":"string"}}}},
  "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}`)
	for _, test := range []struct {
		path, word string
		want       any
		err        string
	}{
		{".spec.text", "3", "3", ""},
		{".spec.text", "", "", ""},
		{".spec.number", "3", int64(3), ""},
		{".spec.number", "-3", int64(-3), ""},
		{".spec.number", "3.5", nil, `.spec.number is an integer, not "3.5"`},
		{".spec.number", "", nil, `.spec.number is an integer, not ""`},
		{".spec.flag", "true", true, ""},
		{".spec.flag", "yes", nil, `.spec.flag is true or false, not "yes"`},
		{".spec.ratio", "0.5", 0.5, ""},
		{".spec.ratio", "half", nil, `.spec.ratio is of type number, and "half" is not JSON for that`},
		{".spec.port", "80", int64(80), ""},
		{".spec.port", "http", "http", ""},
		{".spec.labels.a", "3", "3", ""},
		{".spec.labels", `{"a":"b"}`, map[string]any{"a": "b"}, ""},
		{".spec.labels", "a", nil, `.spec.labels is of type object, and "a" is not JSON for that`},
		{".spec.sets", `[]`, []any{}, ""},
		{".spec.sets[0].count", "3", int64(3), ""},
		{`.spec.sets[?(@.name=="hot")].name`, "3", "3", ""},
		{".spec.open.any", "3", int64(3), ""},
		{".spec.open.any", "true", true, ""},
		{".spec.open.any", "true story", "true story", ""},
		{".spec.open.any", `{"a":1}`, map[string]any{"a": int64(1)}, ""},
		{".spec.open.any", "{", "{", ""},
		{".spec.open.any", "null", "null", ""},
		{".spec.unknown.any", "v1.2", "v1.2", ""},
	} {
		path := parse(t, test.path)
		got, err := path.Typed(schema, test.word)
		if !reflect.DeepEqual(got, test.want) || (err != nil || test.err != "") && fmt.Sprint(err) != test.err {
			t.Errorf("Typed of %s=%s = %#v, %v, want %#v, %s", test.path, test.word, got, err, test.want, test.err)
		}
	}
}

func TestParseSetting(t *testing.T) {
	t.Parallel()
	for pair, want := range map[string][2]string{
		".spec.a=b":                            {".spec.a", "b"},
		"spec.a=":                              {".spec.a", ""},
		".spec.a=b=c":                          {".spec.a", "b=c"},
		".spec.a=[b]=c":                        {".spec.a", "[b]=c"},
		`.spec["a=b"]=c`:                       {`.spec["a=b"]`, "c"},
		`.spec['a]=b']=c`:                      {`.spec["a]=b"]`, "c"},
		`.spec["a]=b"]=c`:                      {`.spec["a]=b"]`, "c"},
		`{.spec.a}=b`:                          {".spec.a", "b"},
		`.spec["a\"=b"]=c`:                     {`.spec["a\"=b"]`, "c"},
		`.spec.sets[?(@.name=="x=y")].count=3`: {`.spec.sets[?(@.name=="x=y")].count`, "3"},
	} {
		path, word, err := ParseSetting(pair)
		if err != nil || path.String() != want[0] || word != want[1] {
			t.Errorf("ParseSetting(%s) = %s, %q, %v, want %q", pair, path, word, err, want)
		}
	}
	for _, pair := range []string{"", ".spec.a", "=b", ".status.a=b", ".spec=b", `.spec["a=b"]`, ".spec[=b", ".spec.sets[*].a=b"} {
		if path, word, err := ParseSetting(pair); err == nil {
			t.Errorf("ParseSetting(%s) = %s, %q, want an error", pair, path, word)
		}
	}
}

func FuzzParseSetting(f *testing.F) {
	f.Add(".spec.replicas=3")
	f.Add(`.spec.sets[?(@.name=="a=b")].count=1=2`)
	f.Add("=")
	f.Fuzz(func(t *testing.T, pair string) {
		path, value, err := ParseSetting(pair)
		if err != nil {
			return
		}
		again, sameValue, err := ParseSetting(path.String() + "=" + value)
		if err != nil || again.String() != path.String() || sameValue != value {
			t.Errorf("ParseSetting(%q) = %s, %q, which parses as %s, %q, %v", pair, path, value, again, sameValue, err)
		}
	})
}
