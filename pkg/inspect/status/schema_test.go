package status

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// jsonSchema contains the keywords of JSON Schema that docs/status-schema.json uses.
type jsonSchema struct {
	Ref         string                `json:"$ref"`
	Defs        map[string]jsonSchema `json:"$defs"`
	Type        any                   `json:"type"`
	Const       any                   `json:"const"`
	Enum        []any                 `json:"enum"`
	Format      string                `json:"format"`
	Required    []string              `json:"required"`
	Properties  map[string]jsonSchema `json:"properties"`
	Closed      *bool                 `json:"additionalProperties"`
	Items       *jsonSchema           `json:"items"`
	Description string                `json:"description"`
}

func documented(t *testing.T) jsonSchema {
	t.Helper()
	data, err := os.ReadFile("../../../docs/status-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonSchema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// check returns how a value violates the schema, and records the names of its fields in seen.
func (s jsonSchema) check(root jsonSchema, at string, value any, seen map[string]bool) []string {
	seen[at] = true
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return root.Defs[name].check(root, "$"+name, value, seen)
	}
	var wrong []string
	if s.Const != nil && s.Const != value || s.Enum != nil && !slices.Contains(s.Enum, value) {
		wrong = append(wrong, fmt.Sprintf("%s has the unexpected value %v", at, value))
	}
	if s.Type != nil && !slices.Contains(strings.Fields(strings.Trim(fmt.Sprint(s.Type), "[]")), typeOf(value)) {
		return append(wrong, fmt.Sprintf("%s has the unexpected type %s", at, typeOf(value)))
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, found := value[name]; !found {
				wrong = append(wrong, at+" has no "+name)
			}
		}
		for name, field := range value {
			known, found := s.Properties[name]
			if !found && s.Closed != nil && !*s.Closed {
				wrong = append(wrong, fmt.Sprintf("%s has the undocumented field %s", at, name))
			}
			wrong = append(wrong, known.check(root, at+"."+name, field, seen)...)
		}
	case []any:
		for _, item := range value {
			wrong = append(wrong, s.Items.check(root, at+"[]", item, seen)...)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, value); s.Format == "date-time" && err != nil {
			wrong = append(wrong, at+" is not an RFC 3339 time: "+value)
		}
	}
	return wrong
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case float64:
		if value == float64(int64(value)) {
			return "integer"
		}
		return "number"
	case bool:
		return "boolean"
	}
	return "string"
}

// fields returns the names of the fields of a schema, as check records them.
func (s jsonSchema) fields(at string) []string {
	var all []string
	for name, field := range s.Properties {
		all = append(all, at+"."+name)
		all = append(all, field.fields(at+"."+name)...)
	}
	if s.Items != nil {
		all = append(all, s.Items.fields(at+"[]")...)
	}
	return all
}

// The output matches the schema, and each field of the schema appears in some output.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := documented(t)
	seen := map[string]bool{}
	check := func(name string, r Report) {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		if wrong := s.check(s, "", value, seen); len(wrong) > 0 {
			t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
		}
	}
	check("empty snapshot", NewReport(Snapshot{}))
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, one := strings.CutSuffix(file.Name(), ".yaml"); one {
			check(name, NewReport(recorded(t, name)))
		}
	}
	for _, r := range replay(t, "crash-after-5s") {
		check("crash-after-5s", r)
	}
	full := recorded(t, "probe")
	data, err := os.ReadFile("testdata/schema/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	full.Object = Object{}
	if err := yaml.UnmarshalStrict(data, &full); err != nil {
		t.Fatal(err)
	}
	full.Object.UserPause = apis.Pause{Until: full.Now.Add(time.Hour), By: "alice", Reason: "INC-7"}
	everything := NewReport(full)
	everything.Problems[0].LastLogLine = "panic"
	check("all fields", everything)
	full.Object.UserPause = apis.Pause{Forever: true}
	check("paused forever", NewReport(full))
	check("deleted", NewReport(full).Gone())

	every := s.fields("")
	for name, def := range s.Defs {
		every = append(every, def.fields("$"+name)...)
	}
	for _, field := range every {
		if !seen[field] {
			t.Errorf("no report has the documented field %s", field)
		}
	}
	if wrong := s.check(s, "", map[string]any{"kind": "Pod", "verdict": 1.5, "extra": true, "pods": "none"}, map[string]bool{}); len(wrong) < 8 {
		t.Errorf("violations in an invalid report = %q, want at least 8", wrong)
	}
}

func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../problem/code.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/status-json.md")
	if err != nil {
		t.Fatal(err)
	}
	var codes, listed []string
	for _, m := range regexp.MustCompile(`Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		codes = append(codes, m[1])
	}
	for _, word := range documented(t).Defs["code"].Enum {
		listed = append(listed, fmt.Sprint(word))
	}
	slices.Sort(codes)
	slices.Sort(listed)
	if len(codes) == 0 || !slices.Equal(codes, listed) {
		t.Errorf("docs/status-schema.json lists the codes %v, want %v", listed, codes)
	}
	for _, code := range codes {
		if !strings.Contains(string(text), "| `"+code+"` |") {
			t.Errorf("docs/status-json.md does not list the code %s", code)
		}
	}
}
