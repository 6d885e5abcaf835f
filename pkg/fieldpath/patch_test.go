package fieldpath

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		".spec.replicas":                      `{"op":"replace","path":"/spec/replicas","value":9}`,
		".spec.whole":                         `{"op":"replace","path":"/spec/whole","value":9}`,
		`.spec.a\.b.c/d~e`:                    `{"op":"replace","path":"/spec/a.b/c~1d~0e","value":9}`,
		".spec.counts[1]":                     `{"op":"replace","path":"/spec/counts/1","value":9}`,
		`.spec.sets[?(@.name=="cold")].count`: `{"op":"replace","path":"/spec/sets/2/count","value":9}`,
		`.spec.sets[?(@.name=="warm")].count`: `{"op":"add","path":"/spec/sets/1/count","value":9}`,
		`.spec.sets[?(@.name=="warm")].a.b`:   `{"op":"add","path":"/spec/sets/1/a","value":{"b":9}}`,
		".spec.absent":                        `{"op":"add","path":"/spec/absent","value":9}`,
		".spec.absent.deep.replicas":          `{"op":"add","path":"/spec/absent","value":{"deep":{"replicas":9}}}`,
		".spec.nothing":                       `{"op":"replace","path":"/spec/nothing","value":9}`,
		".spec.nothing.replicas":              `{"op":"replace","path":"/spec/nothing","value":{"replicas":9}}`,
	} {
		patch, err := Patch(objects.Parse(t, cluster), Edit{parse(t, path), int64(9)})
		want := `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},` + want + "]"
		if err != nil || string(patch) != want {
			t.Errorf("the patch for %s is\n%s, %v, want\n%s", path, patch, err, want)
		}
	}
	patch, err := Patch(objects.Parse(t, `metadata: {resourceVersion: "1"}`), Edit{parse(t, ".spec.gateway.replicas"), int64(0)})
	if want := `{"op":"add","path":"/spec","value":{"gateway":{"replicas":0}}}]`; err != nil || !strings.HasSuffix(string(patch), want) {
		t.Errorf("without a spec the patch is %s, %v, want %s", patch, err, want)
	}
}

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		".spec.counts[2]":                     ".spec.counts[2] does not exist: elements of a list are changed, never added",
		".spec.empty[0].count":                ".spec.empty[0] does not exist",
		`.spec.sets[?(@.name=="none")].count`: `.spec.sets[?(@.name=="none")] does not exist`,
		".spec.absent.sets[0].count":          ".spec.absent.sets[0] does not exist",
		".spec.nothing[0].count":              ".spec.nothing[0] does not exist",
		`.spec.sets[?(@.name=="twin")].count`: "matches 2 fields",
		".spec.sets.count":                    "is a list",
	} {
		if patch, err := Patch(objects.Parse(t, cluster), Edit{parse(t, path), int64(9)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the patch for %s is %s, %v, want %q", path, patch, err, want)
		}
	}
	for text, want := range map[string]string{
		"spec: {replicas: 1}":                              "no resourceVersion",
		"{metadata: {resourceVersion: 7}, spec: {}}":       "no resourceVersion",
		`{metadata: {resourceVersion: ""}, spec: {a: 1}}`:  "no resourceVersion",
		`{metadata: {resourceVersion: "7"}, spec: "what"}`: `.spec is the string "what", not an object`,
	} {
		if patch, err := Patch(objects.Parse(t, text), Edit{parse(t, ".spec.replicas"), int64(9)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the patch for %s is %s, %v, want %q", text, patch, err, want)
		}
	}
	if patch, err := Patch(nil, Edit{parse(t, ".spec.replicas"), int64(9)}); err == nil {
		t.Errorf("patch for a nil object = %s, want an error", patch)
	}
}

// Patch makes edits one after another, so an edit can use fields that an earlier edit added.
func TestPatchOfEdits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		obj   string
		edits []Edit
		want  string
	}{
		{"spec: {a: 1}", []Edit{{Fields("spec", "a"), nil}, {Fields("spec", "b", "c"), nil}}, `{"op":"remove","path":"/spec/a"}`},
		{"spec: {a: null}", []Edit{{Fields("spec", "a"), nil}}, `{"op":"remove","path":"/spec/a"}`},
		{"spec: {}", []Edit{{Fields("spec", "x", "y"), "1"}, {Fields("spec", "x", "z"), "2"}},
			`{"op":"add","path":"/spec/x","value":{"y":"1"}},{"op":"add","path":"/spec/x/z","value":"2"}`},
		{"spec: {a: {b: 1}}", []Edit{{Fields("spec", "a"), nil}, {Fields("spec", "a", "c"), "1"}},
			`{"op":"remove","path":"/spec/a"},{"op":"add","path":"/spec/a","value":{"c":"1"}}`},
		{"spec: {c: 1}", []Edit{{Fields("spec", "b", "c"), nil}}, ""},
		{"spec: {c: 1}", []Edit{{Fields("spec", "b"), nil}, {Fields("spec", "c"), nil}}, `{"op":"remove","path":"/spec/c"}`},
		{"spec: {a: 1}", nil, ""},
		{"{}", []Edit{Annotate("a", "1"), Annotate("b", "")}, `{"op":"add","path":"/metadata/annotations","value":{"a":"1"}}`},
	} {
		obj := objects.Parse(t, row.obj)
		obj["metadata"] = map[string]any{"resourceVersion": "7"}
		patch, err := Patch(obj, row.edits...)
		want := `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"}`
		if row.want != "" {
			want += "," + row.want
		}
		if want += "]"; err != nil || string(patch) != want {
			t.Errorf("patch for the edits %v of %s is\n%s, %v, want\n%s", row.edits, row.obj, patch, err, want)
			continue
		}
		after, err := apply(patch, obj)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range row.edits {
			if err := e.Apply(obj); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(obj, after) {
			t.Errorf("the edits %v of %s result in %v, but the patch results in %v", row.edits, row.obj, obj, after)
		}
	}
	for _, value := range []any{"1", nil} {
		edit := Edit{parse(t, ".spec.sets[0].count.a.b"), value}
		if patch, err := Patch(objects.Parse(t, cluster), edit); err == nil {
			t.Errorf("patch through a number = %s, want an error", patch)
		}
		if err := edit.Apply(objects.Parse(t, cluster)); err == nil {
			t.Errorf("Apply set %v through a number", value)
		}
	}
}

// apply applies a patch as the API server does.
func apply(patch []byte, obj map[string]any) (map[string]any, error) {
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	after, err := decoded.Apply(before)
	if err != nil {
		return nil, err
	}
	var got map[string]any
	return got, utiljson.Unmarshal(after, &got)
}

// descend appends random steps that lead from value to an integer or an absent field or element. It may modify value.
func descend(t *rapid.T, value any, steps []Step) []Step {
	more := func() bool { return len(steps) < 2 || rapid.Bool().Draw(t, "more") }
	switch v := value.(type) {
	case map[string]any:
		name := objects.Names().Draw(t, "field")
		if len(v) > 0 && rapid.IntRange(0, 3).Draw(t, "existing") > 0 {
			name = rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "existing field")
		}
		steps = append(steps, Step{Name: name})
		if child, is := v[name]; is && container(child) {
			return descend(t, child, steps)
		} else if is && child != nil || !more() {
			delete(v, name)
			if rapid.Bool().Draw(t, "present") {
				v[name] = rapid.Int64Range(0, 100).Draw(t, "before")
			}
			return steps
		}
		return descend(t, nil, steps)
	case []any:
		if len(v) == 0 {
			return append(steps, Step{Kind: Element}) // Patch cannot add the element
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		fields, is := v[i].(map[string]any)
		if !is {
			if container(v[i]) {
				return descend(t, v[i], append(steps, Step{Kind: Element, Index: i}))
			}
			v[i] = rapid.Int64Range(0, 100).Draw(t, "before")
			return append(steps, Step{Kind: Element, Index: i})
		}
		next := Step{Kind: Element, Index: i}
		if rapid.Bool().Draw(t, "by key") {
			key := objects.Names().Draw(t, "key")
			fields[key] = fmt.Sprintf("unique %s %d", rapid.String().Draw(t, "value"), i)
			next = Step{Kind: Selection, Where: []Comparison{{Fields(key), fields[key]}}}
		}
		return descend(t, fields, append(steps, next))
	}
	steps = append(steps, Step{Name: objects.Names().Draw(t, "new field")})
	if more() {
		return descend(t, nil, steps)
	}
	return steps
}

func container(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// A patch and Apply change only the value at the path. Formatting and parsing do not change the path.
func TestPatchChangesOnlyItsValue(t *testing.T) {
	t.Parallel()
	patched := 0
	rapid.Check(t, func(t *rapid.T) {
		obj := objects.Maps(1).Draw(t, "object")
		obj["metadata"] = map[string]any{"resourceVersion": rapid.StringMatching(`[0-9]{1,9}`).Draw(t, "version")}
		spec := objects.Maps(4).Draw(t, "spec")
		obj["spec"] = spec
		steps := descend(t, spec, []Step{{Name: "spec"}})
		p, err := ParsePath(Path{steps}.String())
		if err != nil || !reflect.DeepEqual(p.Steps, steps) {
			t.Fatalf("ParsePath(%s) = %s, %v", Path{steps}, p, err)
		}
		n := rapid.Int64Range(-1<<53, 1<<53).Draw(t, "count")
		before := runtime.DeepCopyJSON(obj)
		patch, err := Patch(obj, Edit{p, n})
		if !reflect.DeepEqual(obj, before) {
			t.Fatalf("Patch changed the object from\n%v to\n%v", before, obj)
		}
		if err != nil {
			return
		}
		patched++
		got, err := apply(patch, obj)
		if err != nil {
			t.Fatalf("patch %s does not apply: %v", patch, err)
		}
		if is, found, err := p.Get(got); err != nil || !found || is != n {
			t.Fatalf("Get of %s = %d, %t, %v after the patch %s, want %d", p, is, found, err, patch, n)
		}
		if err := (Edit{p, n}).Apply(before); err != nil || !reflect.DeepEqual(got, before) {
			t.Fatalf("patch %s for %s results in\n%v, want\n%v (%v)", patch, p, got, before, err)
		}
	})
	if patched == 0 {
		t.Error("no random edit resulted in a patch")
	}
}
