package kinds

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The schema and the documentation list all annotations. For each plan, the schema allows the same
// annotations as Declared.
func TestDeclarationsAreDocumented(t *testing.T) {
	t.Parallel()
	var schema struct {
		OneOf []struct {
			Properties map[string]struct {
				Const string `json:"const"`
				Ref   string `json:"$ref"`
			} `json:"properties"`
			OneOf []struct {
				Required []string `json:"required"`
				AnyOf    []struct {
					Required []string `json:"required"`
				} `json:"anyOf"`
				Not struct {
					AnyOf []struct {
						Required []string `json:"required"`
					} `json:"anyOf"`
				} `json:"not"`
			} `json:"oneOf"`
		} `json:"oneOf"`
	}
	if err := json.Unmarshal([]byte(readText(t, "../../docs/kind-declaration-schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`= declares \+ "([a-z-]+)"`).FindAllStringSubmatch(readText(t, "declaration.go"), -1) {
		all = append(all, declares+m[1])
	}
	problems := func(annotations map[string]string) string {
		if _, err := Declared(crdWith(t, annotations)); err != nil {
			return err.Error()
		}
		return ""
	}
	table := readText(t, "../../docs/your-own-kind.md")
	documented := map[string]bool{}
	for _, alternative := range schema.OneOf {
		plan := alternative.Properties[AnnotationPlan].Const
		base := map[string]string{"plan": plan, "image": "nginx"}
		if plan != string(StrategyNodes) {
			base["replicas-path"] = ".spec.size"
		}
		if said := problems(base); said != "" {
			t.Errorf("plan %q: %s", plan, said)
		}
		for _, annotation := range all {
			name := strings.TrimPrefix(annotation, declares)
			property, has := alternative.Properties[annotation]
			documented[annotation] = documented[annotation] || has
			if !strings.Contains(table, "\n| `"+name+"` |") {
				t.Errorf("the table in your-own-kind.md has no row of %s", annotation)
			}
			said := maps.Clone(base)
			if said[name] == "" {
				said[name] = ".metadata.wrong"
			}
			told := problems(said)
			if foreign := strings.Contains(told, annotation+" is not an annotation of the plan"); foreign == has {
				t.Errorf("plan %s: the schema has %s: %v; Declared says %q", plan, annotation, has, told)
			}
			half := map[string]string{"#/$defs/specPath": "not a field of .spec", "#/$defs/statusPath": "not a field of .status"}[property.Ref]
			if has && half != "" && name != "replicas-path" && !strings.Contains(told, annotation+": .metadata.wrong is "+half) {
				t.Errorf("plan %s: %s is a %s; Declared says %q", plan, annotation, property.Ref, told)
			}
		}
		for unknown := range alternative.Properties {
			if !slices.Contains(all, unknown) {
				t.Errorf("plan %s: nobody reads %s", plan, unknown)
			}
		}
		template, container := alternative.OneOf[0], alternative.OneOf[1]
		delete(base, "image")
		if said := problems(base); !strings.Contains(said, "the pod template is missing") {
			t.Errorf("plan %s without anything to make pods of: %q", plan, said)
		}
		for _, one := range container.AnyOf {
			said := maps.Clone(base)
			said[strings.TrimPrefix(one.Required[0], declares)] = ".spec.image"
			if told := problems(said); told != "" {
				t.Errorf("plan %s with %s alone: %q", plan, one.Required[0], told)
			}
		}
		said := maps.Clone(base)
		said[strings.TrimPrefix(template.Required[0], declares)] = ".spec.template"
		if told := problems(said); told != "" {
			t.Errorf("plan %s with %s alone: %q", plan, template.Required[0], told)
		}
		for _, one := range template.Not.AnyOf {
			both := maps.Clone(said)
			both[strings.TrimPrefix(one.Required[0], declares)] = ".spec.image"
			if told := problems(both); !strings.Contains(told, one.Required[0]+" is not an annotation of") {
				t.Errorf("plan %s with a template and %s: %q", plan, one.Required[0], told)
			}
		}
	}
	for _, annotation := range all {
		if !documented[annotation] {
			t.Errorf("kind-declaration-schema.json has no %s", annotation)
		}
	}
	if len(all) < 10 || len(schema.OneOf) != 3 {
		t.Errorf("there are the annotations %q, and %d plans", all, len(schema.OneOf))
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
