package podtemplate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath/fieldpathtest"
)

func (c Candidate) text() string {
	s := c.Path.String() + " " + []string{"template", "image", "parts"}[c.Form]
	if c.Pattern {
		s += " pattern"
	}
	if len(c.Fields) > 0 {
		s += fmt.Sprint(" ", c.Fields)
	}
	return s
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	const text = "{type: string}"
	const podTemplate = "{type: object, properties: {metadata: {type: object}, spec: {type: object, properties: {containers: {type: array, items: {type: object, properties: {image: {type: string}}}}}}}}"
	const open = "{type: object, x-kubernetes-preserve-unknown-fields: true}"
	for name, row := range map[string]struct {
		spec, obj string
		want      []string
		// chosen is the path that Choose returns, or "" if the choice is ambiguous.
		chosen string
	}{
		"one template":            {"template: " + podTemplate, "{}", []string{".spec.template template"}, ".spec.template"},
		"open template":           {"template: " + open, "template: {spec: {containers: [{image: a}]}}", []string{".spec.template template"}, ".spec.template"},
		"open template, no image": {"template: " + open, "template: {spec: {containers: [{name: a}]}}", nil, ""},
		"two templates":           {"a: " + podTemplate + ", b: " + podTemplate, "{}", []string{".spec.a template", ".spec.b template"}, ""},
		"one image":               {"image: " + text, "{}", []string{".spec.image image"}, ".spec.image"},
		"image and template": {"image: " + text + ", podTemplate: " + podTemplate, "{}",
			[]string{".spec.image image", ".spec.podTemplate template"}, ""},
		"image in parts": {"image: {type: object, properties: {tag: {type: string}, repository: {type: string}}}", "{}",
			[]string{".spec.image parts [repository tag]"}, ""},
		"image of a part":   {"backup: {type: object, properties: {image: " + text + "}}", "{}", []string{".spec.backup.image image"}, ""},
		"another name":      {"applicationImage: " + text, "{}", []string{".spec.applicationImage image"}, ""},
		"image and its tag": {"image: " + text + ", imageTag: " + text, "{}", []string{".spec.image image", ".spec.imageTag image"}, ""},
		"image beside others": {"image: " + text + ", images: {type: object, properties: {a: {type: string}}}", "{}",
			[]string{".spec.image image", ".spec.images parts [a]"}, ""},
		"image of the object alone":    {"x-kubernetes-preserve-unknown-fields: true", "image: nginx", []string{".spec.image image"}, ""},
		"containers, volumes, pulling": {"image: " + text + ", imagePullPolicy: " + text + ", sidecars: {type: array, items: {type: object, properties: {image: {type: string}}}}, volumes: {type: array, items: {type: object, properties: {image: {type: string}}}}", "{}", []string{".spec.image image"}, ".spec.image"},
		"templates in a list": {"tasks: {type: array, items: {type: object, properties: {name: {type: string}, template: " + podTemplate + "}}}", "tasks: [{name: a}, {name: b}]",
			[]string{`.spec.tasks[?(@.name=="a")].template template`, `.spec.tasks[?(@.name=="b")].template template`}, ""},
		"empty list": {"tasks: {type: array, items: {type: object, properties: {name: {type: string}, template: " + podTemplate + "}}}", "{}",
			[]string{`.spec.tasks[?(@.name=="<NAME>")].template template pattern`}, ""},
		"list of one": {"tasks: {type: array, items: {type: object, properties: {name: {type: string}, template: " + podTemplate + "}}}", "tasks: [{name: a}]",
			[]string{`.spec.tasks[?(@.name=="a")].template template`}, `.spec.tasks[?(@.name=="a")].template`},
		"open": {"x-kubernetes-preserve-unknown-fields: true", "template: {spec: {containers: [{image: a}]}}", []string{".spec.template template"}, ".spec.template"},
		"open, of one of many": {"x-kubernetes-preserve-unknown-fields: true", "templates: {pods: [{name: a, spec: {containers: [{image: a}]}}]}",
			[]string{`.spec.templates.pods[?(@.name=="a")] template`}, ""},
		"nothing": {"replicas: {type: integer}", "replicas: 1", nil, ""},
	} {
		spec := "{type: object, properties: {" + row.spec + "}}"
		if strings.HasPrefix(row.spec, "x-") {
			spec = "{type: object, " + row.spec + "}"
		}
		schema := fieldpathtest.Object(t, "{type: object, properties: {spec: "+spec+"}}")
		obj := "{}"
		if row.obj != "{}" {
			obj = "{" + row.obj + "}"
		}
		all := Candidates(schema, fieldpathtest.Object(t, "spec: "+obj))
		var got []string
		for _, c := range all {
			got = append(got, c.text())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: found %q, want %q", name, got, row.want)
		}
		chosen := ""
		if c, is := Choose(all); is {
			chosen = c.Path.String()
		}
		if chosen != row.chosen {
			t.Errorf("%s: chose %q, want %q", name, chosen, row.chosen)
		}
	}
}
