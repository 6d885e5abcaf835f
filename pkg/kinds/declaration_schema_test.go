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
		if problem := problems(base); problem != "" {
			t.Errorf("plan %q with the required annotations: problem %q, want none", plan, problem)
		}
		for _, annotation := range all {
			name := strings.TrimPrefix(annotation, declares)
			property, has := alternative.Properties[annotation]
			documented[annotation] = documented[annotation] || has
			if !strings.Contains(table, "\n| `"+name+"` |") {
				t.Errorf("the table in your-own-kind.md has no row for %s", annotation)
			}
			annotations := maps.Clone(base)
			if annotations[name] == "" {
				annotations[name] = ".metadata.wrong"
			}
			problem := problems(annotations)
			if foreign := strings.Contains(problem, annotation+" is not an annotation of the plan"); foreign == has {
				t.Errorf("plan %s: annotation %s is in the schema: %t; problem of Declared: %q", plan, annotation, has, problem)
			}
			half := map[string]string{"#/$defs/specPath": "not a field of .spec", "#/$defs/statusPath": "not a field of .status"}[property.Ref]
			if has && half != "" && name != "replicas-path" && !strings.Contains(problem, annotation+": .metadata.wrong is "+half) {
				t.Errorf("plan %s: annotation %s is a %s in the schema; problem of Declared: %q", plan, annotation, property.Ref, problem)
			}
		}
		for unknown := range alternative.Properties {
			if !slices.Contains(all, unknown) {
				t.Errorf("plan %s: the schema has the unknown annotation %s", plan, unknown)
			}
		}
		template, container := alternative.OneOf[0], alternative.OneOf[1]
		delete(base, "image")
		if problem := problems(base); !strings.Contains(problem, "the pod template is missing") {
			t.Errorf("plan %s with neither a pod template nor an image: problem %q", plan, problem)
		}
		for _, one := range container.AnyOf {
			annotations := maps.Clone(base)
			annotations[strings.TrimPrefix(one.Required[0], declares)] = ".spec.image"
			if problem := problems(annotations); problem != "" {
				t.Errorf("plan %s with only %s: problem %q, want none", plan, one.Required[0], problem)
			}
		}
		annotations := maps.Clone(base)
		annotations[strings.TrimPrefix(template.Required[0], declares)] = ".spec.template"
		if problem := problems(annotations); problem != "" {
			t.Errorf("plan %s with only %s: problem %q, want none", plan, template.Required[0], problem)
		}
		for _, one := range template.Not.AnyOf {
			both := maps.Clone(annotations)
			both[strings.TrimPrefix(one.Required[0], declares)] = ".spec.image"
			if problem := problems(both); !strings.Contains(problem, one.Required[0]+" is not an annotation of") {
				t.Errorf("plan %s with a template and %s: problem %q, want that the annotation is not allowed", plan, one.Required[0], problem)
			}
		}
	}
	for _, annotation := range all {
		if !documented[annotation] {
			t.Errorf("kind-declaration-schema.json has no %s", annotation)
		}
	}
	if len(all) < 10 || len(schema.OneOf) != 3 {
		t.Errorf("found the annotations %q and %d plans, want at least 10 and 3", all, len(schema.OneOf))
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
