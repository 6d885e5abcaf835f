package kinds

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Scaffold says of which kind to make a CRD.
type Scaffold struct {
	// Kind is the name of the kind in CamelCase, Group its API group: a domain.
	Kind, Group string
	Plan        Strategy
	// ReplicasPath is the field of the count, nil for .spec.replicas. A pod on each
	// node has none.
	ReplicasPath *fieldpath.Path
	// Image is the default of .spec.image.
	Image string
}

// part is one object in a manifest.
type part = map[string]any

// The fields of a spec that are not the count.
const (
	imageField   = "image"
	commandField = "command"
	envField     = "env"
)

// CRD makes a CRD that is complete: with it, "run-controller" reconciles the
// kind. An error says what of the scaffold cannot be.
func (s Scaffold) CRD() (*unstructured.Unstructured, error) {
	resource, err := s.resource()
	if err != nil {
		return nil, err
	}
	count, err := s.countFields()
	if err != nil {
		return nil, err
	}
	rules, known := s.Plan.rules()
	if !known {
		return nil, fmt.Errorf("invalid plan %q: it must be %s", s.Plan, strategyNames())
	}
	version := part{
		"name": resource.Version, "served": true, "storage": true,
		"additionalPrinterColumns": columns(rules.status, count),
		"schema":                   part{"openAPIV3Schema": s.schema(rules, count)},
		"subresources":             subresources(count),
	}
	crd := &unstructured.Unstructured{Object: part{
		"spec": part{
			"group": s.Group,
			"names": part{
				"kind": s.Kind, "listKind": s.Kind + "List",
				"plural": resource.Resource, "singular": strings.ToLower(s.Kind),
			},
			"scope":    "Namespaced",
			"versions": []any{version},
		},
	}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(resource.GroupResource().String())
	crd.SetAnnotations(map[string]string{
		AnnotationPlan:        string(s.Plan),
		annotationImagePath:   ".spec." + imageField,
		annotationCommandPath: ".spec." + commandField,
		annotationEnvPath:     ".spec." + envField,
		AnnotationNameLabel:   apis.LabelApp,
	})
	return crd, nil
}

// plural is the resource type with the plural that clients guess. They do not know that
// of words such as "box".
func (s Scaffold) plural() schema.GroupVersionResource {
	guess, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.Group, Version: "v1alpha1", Kind: s.Kind})
	for _, end := range []string{"x", "z", "ch", "sh"} {
		if strings.HasSuffix(singular.Resource, end) {
			guess.Resource = singular.Resource + "es"
		}
	}
	return guess
}

// resource is the resource type of the kind.
func (s Scaffold) resource() (schema.GroupVersionResource, error) {
	var none schema.GroupVersionResource
	if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(s.Kind) {
		return none, fmt.Errorf("invalid kind %q: it must be in CamelCase, as in \"MyApp\": a capital letter, then letters and digits", s.Kind)
	}
	if longest := validation.DNS1035LabelMaxLength - len("List"); len(s.Kind) > longest {
		return none, fmt.Errorf("invalid kind %q: it must be no longer than %d characters", s.Kind, longest)
	}
	if len(validation.IsDNS1123Subdomain(s.Group)) > 0 || !strings.Contains(s.Group, ".") {
		return none, fmt.Errorf("invalid group %q: it must be a domain in lower case, as in example.com", s.Group)
	}
	for _, theirs := range []string{"k8s.io", "kubernetes.io"} {
		if s.Group == theirs || strings.HasSuffix(s.Group, "."+theirs) {
			return none, fmt.Errorf("invalid group %q: groups that end in %s are reserved for the Kubernetes project", s.Group, theirs)
		}
	}
	plural := s.plural()
	if crd := plural.GroupResource().String(); len(crd) > validation.DNS1123SubdomainMaxLength {
		return none, fmt.Errorf("invalid group %q: with the plural, %s must be no longer than %d characters", s.Group, crd, validation.DNS1123SubdomainMaxLength)
	}
	return plural, nil
}

// countFields are the names of the fields from the root of an object to the
// count, nil where the kind has none.
func (s Scaffold) countFields() ([]string, error) {
	switch {
	case s.Plan.WithoutReplicas() && s.ReplicasPath != nil:
		return nil, errors.New("a pod on each node has no replica count")
	case s.Plan.WithoutReplicas():
		return nil, nil
	case s.ReplicasPath == nil:
		return []string{"spec", "replicas"}, nil
	}
	names, err := fieldpath.FieldNames(s.ReplicasPath.String())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		// A CRD names the field behind /scale by plain names with dots between.
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`).MatchString(name) {
			return nil, fmt.Errorf("%s has the field %q: in a path behind /scale there are only letters, digits, _ and -, and no digit or - at the start", s.ReplicasPath, name)
		}
	}
	if slices.Contains([]string{imageField, commandField, envField}, names[1]) {
		return nil, fmt.Errorf("%s cannot be the replica count: .spec.%s configures the containers", s.ReplicasPath, names[1])
	}
	return names, nil
}

// dotted is a path as CRDs have it.
func dotted(names []string) string { return "." + strings.Join(names, ".") }

func subresources(count []string) part {
	served := part{"status": part{}}
	if count != nil {
		served["scale"] = part{
			"specReplicasPath": dotted(count), "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
		}
	}
	return served
}

// columns are what "kubectl get" shows. Where there is a field of the count, it
// is what is desired.
func columns(counts statusCounts, count []string) []any {
	column := func(name, kind, path, description string) any {
		return part{"name": name, "type": kind, "jsonPath": path, "description": description}
	}
	var shown []any
	for _, c := range counts.scaffolded() {
		path := c.path()
		if path == "" {
			path = dotted(count)
		}
		shown = append(shown, column(c.title, "integer", path, c.columnText))
	}
	return append(shown,
		column("Age", "date", ".metadata.creationTimestamp", "Time since the object was created."),
		part{
			"name": "Image", "type": "string", "jsonPath": ".spec." + imageField, "description": "Image of the container.",
			"priority": int64(1), // with -o wide
		})
}

func (s Scaffold) schema(rules strategyRules, count []string) part {
	return part{
		"description": s.Kind + " " + rules.keeps,
		"type":        "object",
		"properties": part{
			"spec":   s.spec(count),
			"status": scaffoldedStatus(rules),
		},
		"x-kubernetes-validations": []any{part{
			"rule":    fmt.Sprintf("self.metadata.name.size() <= %d", apis.MaxNameLength),
			"message": fmt.Sprintf("name must be no longer than %d characters, as it is the value of the label %s of its pods", apis.MaxNameLength, apis.LabelApp),
		}},
	}
}

// spec is the schema of what is wanted. Each object on the way to the count has
// a default, so that the one of the count is reached.
func (s Scaffold) spec(count []string) part {
	image := describedAs("string", "Image of the container. If it changes, the controller replaces the pods, some at a time.")
	image["default"], image["minLength"] = s.Image, int64(1)
	command := describedAs("array", "The command of the container, in place of the image's own.")
	command["items"], command["x-kubernetes-list-type"] = part{"type": "string"}, "atomic"
	spec := madeOf("The desired state.", part{imageField: image, commandField: command, envField: env()})
	spec["default"] = part{}
	if count == nil {
		return spec
	}
	at := spec
	for _, name := range count[1 : len(count)-1] {
		next := madeOf("The desired state.", part{})
		next["default"] = part{}
		fieldpath.Object(at, "properties")[name] = next
		at = next
	}
	replicas := number("The desired number of pods.")
	replicas["default"], replicas["minimum"] = int64(1), int64(0)
	fieldpath.Object(at, "properties")[count[len(count)-1]] = replicas
	return spec
}

// env is the schema of the environment of a container.
func env() part {
	name := describedAs("string", "The name of the variable.")
	name["minLength"] = int64(1)
	variable := madeOf("A variable and its value.", part{"name": name, "value": describedAs("string", "The value of the variable.")})
	variable["required"] = []any{"name"}
	env := describedAs("array", "The environment of the container.")
	env["items"] = variable
	env["x-kubernetes-list-type"], env["x-kubernetes-list-map-keys"] = "map", []any{"name"}
	return env
}

// scaffoldedStatus is the schema of what the loop tells, under the names that kinds
// usually have for it.
func scaffoldedStatus(rules strategyRules) part {
	told := part{
		"observedGeneration": part{
			"type": "integer", "format": "int64",
			"description": "The generation that this status describes. If it is lower than metadata.generation, the controller has not seen the last change.",
		},
		"conditions": conditionsSchema(),
	}
	for _, c := range rules.status.scaffolded() {
		if c.field != "" {
			told[c.field] = number(c.description)
		}
	}
	if rules.counted {
		told["selector"] = describedAs("string", "The label selector of the pods, as a string. Autoscalers and disruption budgets read it through the scale subresource.")
	}
	return madeOf("The state that the controller last observed.", told)
}

// conditionsSchema is that of conditions as the API conventions have them
// (metav1.Condition).
func conditionsSchema() part {
	at := describedAs("string", "When the status last changed.")
	at["format"] = "date-time"
	message := describedAs("string", "A human-readable message.")
	message["maxLength"] = int64(32768)
	generation := describedAs("integer", "The generation that the condition describes.")
	generation["format"], generation["minimum"] = "int64", int64(0)
	reason := describedAs("string", "The reason for the condition, in CamelCase.")
	reason["minLength"], reason["maxLength"], reason["pattern"] = int64(1), int64(1024), `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
	is := describedAs("string", "The status of the condition.")
	is["enum"] = []any{"True", "False", "Unknown"}
	kind := describedAs("string", "The type of the condition, in CamelCase.")
	kind["maxLength"] = int64(316)
	kind["pattern"] = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	condition := madeOf("A condition of the object.", part{
		"lastTransitionTime": at, "message": message, "observedGeneration": generation, "reason": reason, "status": is, "type": kind,
	})
	condition["required"] = []any{"lastTransitionTime", "message", "reason", "status", "type"}
	conditions := describedAs("array", "Ready: all pods exist and are ready.\n"+
		"Progressing: pods are being created, replaced or removed.\n"+
		"ReplicaFailure: a pod could not be created; the message says why.\n"+
		"Paused: someone paused the object; the message says until when.")
	conditions["items"] = condition
	conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"] = "map", []any{"type"}
	return conditions
}

// describedAs is the schema of a field of a type.
func describedAs(kind, description string) part {
	return part{"type": kind, "description": description}
}

// madeOf is the schema of an object with some fields.
func madeOf(description string, properties part) part {
	return part{"type": "object", "description": description, "properties": properties}
}

// number is the schema of a number of pods.
func number(description string) part {
	return part{"type": "integer", "format": "int32", "description": description}
}
