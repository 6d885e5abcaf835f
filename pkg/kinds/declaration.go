package kinds

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// The annotations of a CRD that declare how its kind is reconciled. A path lists the fields from the root of an object,
// such as .spec.size. Paths in the definition of /scale, and status fields with common names, need not be declared.
const (
	// AnnotationPlan is the strategy. Without this annotation, "run-controller" does not reconcile the kind.
	AnnotationPlan = declares + "plan"
	// AnnotationReplicasPath is the path of the replica field. It also works on CRDs without a plan and without /scale.
	AnnotationReplicasPath = declares + "replicas-path"
	annotationTemplatePath = declares + "template-path"
	// The next four configure the only container of kinds without a template. annotationImage is the default image.
	annotationImagePath   = declares + "image-path"
	annotationCommandPath = declares + "command-path"
	annotationEnvPath     = declares + "env-path"
	annotationImage       = declares + "image"
	// AnnotationDeploymentNamePath is the path of the field with the name of the Deployment.
	AnnotationDeploymentNamePath = declares + "deployment-name-path"
	// AnnotationNameLabel is the pod label with the object's name.
	AnnotationNameLabel = declares + "name-label"
	// annotationHistoryLimit is the default of .spec.revisionHistoryLimit.
	annotationHistoryLimit = declares + "revision-history-limit"
	// The other annotations are paths of status fields.
	annotationSelectorPath  = declares + "selector-path"
	AnnotationDesiredPath   = declares + "desired-path"
	AnnotationCurrentPath   = declares + "current-path"
	AnnotationUpdatedPath   = declares + "updated-path"
	AnnotationReadyPath     = declares + "ready-path"
	AnnotationAvailablePath = declares + "available-path"
	annotationPodNamesPath  = declares + "pod-names-path"
)

const declares = apis.Prefix

// DeclarationError reports an invalid declaration of a kind.
type DeclarationError struct {
	CRD      string   // the name of the CRD
	Problems []string // a message for each problem, sorted
}

func (e *DeclarationError) Error() string {
	return fmt.Sprintf("the annotations of the CRD %s are invalid: %s", e.CRD, strings.Join(e.Problems, "; "))
}

// Declared returns the kind that a CRD declares, or a DeclarationError. Without a plan, the kind is not Reconciled.
func Declared(crd *unstructured.Unstructured) (Kind, error) {
	text := func(path ...string) string {
		text, _, _ := unstructured.NestedString(crd.Object, path...)
		return text
	}
	kind := Kind{Kind: text("spec", "names", "kind"), Clusterwide: text("spec", "scope") == "Cluster"}
	kind.Singular = cmp.Or(text("spec", "names", "singular"), strings.ToLower(kind.Kind))
	kind.Resource = schema.GroupVersionResource{Group: text("spec", "group"), Resource: text("spec", "names", "plural")}
	version := CRDVersion(crd, "storage", true) // objects in this version need no conversion
	kind.Resource.Version, _ = version["name"].(string)
	d := declaration{Source: SourceIn(crd, version), version: version}
	if _, declared := d.Annotations[AnnotationPlan]; !declared {
		return kind, nil
	}
	maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, declares) })
	d.read(&kind)
	if len(d.problems) > 0 {
		slices.Sort(d.problems)
		return Kind{}, &DeclarationError{CRD: crd.GetName(), Problems: d.problems}
	}
	return kind, nil
}

// CRDResource returns the resource of CRDs.
func CRDResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// Established reports whether the server serves the kind of a CRD.
func Established(crd *unstructured.Unstructured) bool {
	conditions := fieldpath.Objects(fieldpath.Object(crd.Object, "status")["conditions"])
	return slices.ContainsFunc(conditions, func(c map[string]any) bool {
		return c["type"] == "Established" && c["status"] == "True"
	})
}

// CRDVersion returns the first version of a CRD in which the field has this value, or nil.
func CRDVersion(crd *unstructured.Unstructured, field string, value any) map[string]any {
	for _, version := range fieldpath.Objects(fieldpath.Object(crd.Object, "spec")["versions"]) {
		if version[field] == value {
			return version
		}
	}
	return nil
}

// declaration is the state of parsing the declaration of a CRD. Its annotations are those that have not been read yet.
type declaration struct {
	Source
	version  map[string]any
	taken    [][]string // the declared status paths, and the paths that d.usual has returned
	problems []string
}

func (d *declaration) read(kind *Kind) {
	m := &kind.Mapping
	m.Strategy = Strategy(d.take(AnnotationPlan))
	rules, known := m.Strategy.rules()
	if !known {
		d.problem("%s must be %s, not %q", AnnotationPlan, strategyNames(), m.Strategy)
		return
	}
	name, _ := d.version["name"].(string)
	if served, _ := d.version["served"].(bool); !served {
		d.problem("the storage version %q is not served", name)
	}
	if kind.Clusterwide {
		d.problem(".spec.scope is Cluster: only objects in a namespace can have pods")
	}
	if !d.StatusServed {
		d.problem("version %s has no subresources.status, which the controller needs to write a status", name)
	}
	scaled := func(path string) []string {
		names, _ := fieldpath.FieldNames(path) // nil if the path is not valid
		return names
	}
	if rules.counted { // otherwise, the loop below reports the annotation as unknown
		kind.ReplicasPath = d.path("spec", AnnotationReplicasPath, "integer", scaled(d.SpecPath), []string{"spec", "replicas"})
		if kind.ReplicasPath == nil && len(d.problems) == 0 {
			d.problem("%s is missing: it names the field of the replica count", AnnotationReplicasPath)
		}
	}
	if rules.readSpec != nil {
		rules.readSpec(d, m)
	}
	d.readPods(m)
	m.HistoryLimit = d.number(annotationHistoryLimit)
	var counted []string
	if rules.counted {
		counted = scaled(d.StatusPath)
	}
	m.Status = d.readStatus(rules.status, scaled(d.SelectorPath), counted)
	for _, key := range slices.Sorted(maps.Keys(d.Annotations)) {
		d.problem("%s is not an annotation of the plan %s", key, m.Strategy)
	}
}

func (d *declaration) readPods(m *Mapping) {
	m.NameLabel = d.label(AnnotationNameLabel)
	if _, templated := d.Annotations[annotationTemplatePath]; templated {
		m.TemplatePath = d.path("spec", annotationTemplatePath, "object")
		if _, missing := d.at(slices.Concat(m.TemplatePath, []string{"spec", "containers"})); missing != "" && m.TemplatePath != nil {
			d.problem("%s does not name a pod template: %s is not in the schema of version %s", annotationTemplatePath, missing, d.version["name"])
		}
		return // the method read reports the annotations for kinds without a template as unknown
	}
	before := len(d.problems)
	m.ImagePath = d.path("spec", annotationImagePath, "string")
	m.CommandPath = d.path("spec", annotationCommandPath, "array")
	m.EnvPath = d.path("spec", annotationEnvPath, "array")
	m.Image = d.take(annotationImage)
	if m.ImagePath == nil && m.Image == "" && len(d.problems) == before {
		d.problem("the pod template is missing: set %s, %s or %s", annotationTemplatePath, annotationImagePath, annotationImage)
	}
}

// readStatus returns the paths of the status fields: the declared path, the path from /scale (selector and count, which
// can be nil), or a common path in the schema, in this order of precedence.
func (d *declaration) readStatus(usual StatusPaths, selector, count []string) StatusPaths {
	var at StatusPaths
	for _, word := range d.Annotations {
		if names, err := fieldpath.FieldNames(word); err == nil && names[0] == "status" {
			d.taken = append(d.taken, names)
		}
	}
	at.Selector = d.path("status", annotationSelectorPath, "string", selector)
	at.Desired = d.path("status", AnnotationDesiredPath, "integer", usual.Desired)
	at.Current = d.path("status", AnnotationCurrentPath, "integer", count, usual.Current)
	at.Updated = d.path("status", AnnotationUpdatedPath, "integer", usual.Updated)
	at.Ready = d.path("status", AnnotationReadyPath, "integer", usual.Ready)
	at.Available = d.path("status", AnnotationAvailablePath, "integer", usual.Available)
	at.PodNames = d.path("status", annotationPodNamesPath, "array")
	at.ObservedGeneration = d.usual("integer", []string{"status", "observedGeneration"})
	if at.Conditions = d.usual("array", []string{"status", "conditions"}); at.Conditions != nil {
		d.checkConditions()
	}
	at.Empty = d.emptyValues(at)
	d.checkOverlaps(at)
	return at
}

// checkOverlaps reports status fields to which the controller would write two values.
func (d *declaration) checkOverlaps(at StatusPaths) {
	paths := slices.DeleteFunc(at.paths(), func(path []string) bool { return len(path) == 0 })
	for i, path := range paths {
		if overlapsAny(path, paths[:i]) {
			d.problem("two annotations name the field .%s or a part of it", strings.Join(path, "."))
		}
	}
}

// overlapsAny reports whether a path equals, contains, or is inside one of the others.
func overlapsAny(path []string, others [][]string) bool {
	return slices.ContainsFunc(others, func(other []string) bool {
		n := min(len(path), len(other))
		return slices.Equal(path[:n], other[:n])
	})
}

// emptyValues returns empty values for required status fields without a path. It reports fields that cannot be empty.
func (d *declaration) emptyValues(at StatusPaths) map[string]any {
	empty := map[string]any{}
	status := fieldpath.Object(d.Schema, "properties", "status")
	paths := at.paths()
	for _, name := range fieldpath.Strings(status["required"]) {
		if slices.ContainsFunc(paths, func(path []string) bool { return len(path) > 1 && path[1] == name }) {
			continue
		}
		value, may := emptyValue(fieldpath.Object(status, "properties", name))
		if !may {
			d.problem(".status.%s is required, but no annotation names it", name)
			continue
		}
		empty[name] = value
	}
	return empty
}

// emptyValue returns the empty value of a schema's type, and whether the schema is known to accept this value.
func emptyValue(schema map[string]any) (value any, may bool) {
	for _, bound := range []string{"enum", "minLength", "pattern", "format", "minItems", "minProperties", "required", "x-kubernetes-validations"} {
		if _, bounded := schema[bound]; bounded && (bound != "format" || schema["type"] == "string") {
			return nil, false
		}
	}
	kind, _ := schema["type"].(string)
	if kind == "integer" || kind == "number" {
		least, bounded := fieldpath.Integer(schema["minimum"])
		return int64(0), !bounded || least <= 0
	}
	empty := map[string]any{"string": "", "boolean": false, "array": []any{}, "object": map[string]any{}}
	value, may = empty[kind]
	return value, may
}

// checkConditions reports a schema that rejects the conditions of the controller, which follow the API conventions.
func (d *declaration) checkConditions() {
	item := fieldpath.Object(d.Schema, "properties", "status", "properties", "conditions", "items")
	if item["x-kubernetes-preserve-unknown-fields"] == true {
		return
	}
	ours := []string{"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"}
	for _, required := range fieldpath.Strings(item["required"]) {
		if !slices.Contains(ours, required) {
			d.problem(".status.conditions[*].%s is required, but is not a field of conditions in the API conventions", required)
		}
	}
	for _, name := range []string{"type", "status"} {
		if fieldpath.Object(item, "properties", name)["type"] != "string" {
			d.problem(".status.conditions[*].%s is not a string in version %s, as the API conventions require", name, d.version["name"])
		}
	}
}

// path reads an annotation with the path of a field. The field must be in root, which is "spec" or "status". Its type
// in the schema must be kind or, in an open schema, absent. Without the annotation, path returns a usual path or nil.
func (d *declaration) path(root, key, kind string, usual ...[]string) []string {
	word, declared := d.Annotations[key]
	if !declared {
		return d.usual(kind, usual...)
	}
	delete(d.Annotations, key)
	names, err := fieldpath.FieldNames(word)
	if err != nil {
		d.problem("%s: %v", key, err)
		return nil
	}
	at, missing := d.at(names)
	switch {
	case names[0] != root:
		d.problem("%s: %s is not a field of .%s", key, word, root)
	case missing != "":
		d.problem("%s: %s is not in the schema of version %s", key, missing, d.version["name"])
	case fieldpath.Open(at) && at["type"] == nil:
	case at["type"] != kind:
		d.problem("%s: %s is of type %s, not %s", key, word, typeOf(at), kind)
	}
	return names
}

// usual returns the first path that has this type in the schema and does not overlap a taken path, or nil.
func (d *declaration) usual(kind string, paths ...[]string) []string {
	for _, path := range paths {
		if at, _ := d.at(path); at["type"] == kind && !overlapsAny(path, d.taken) {
			d.taken = append(d.taken, path)
			return path
		}
	}
	return nil
}

// typeOf returns the type of a schema for messages, or "any" if the schema does not restrict the type.
func typeOf(schema map[string]any) string {
	if one, is := schema["type"].(string); is {
		return one
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return "integer or string"
	}
	return "any"
}

// at returns the schema of a field. missing is the path of the first field that the schema lacks, or "".
func (d *declaration) at(names []string) (at map[string]any, missing string) {
	at, taken := fieldpath.Fields(names...).In(d.Schema)
	switch {
	case taken == len(names):
		return at, ""
	case fieldpath.Open(at):
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}, ""
	}
	return nil, "." + strings.Join(names[:taken+1], ".")
}

func (d *declaration) label(key string) string {
	name := d.take(key)
	if name == "" {
		return ""
	}
	switch problems := validation.IsQualifiedName(name); {
	case len(problems) > 0:
		d.problem("%s: %q is not a valid label name: %s", key, name, strings.Join(problems, "; "))
	case strings.HasPrefix(name, apis.Prefix):
		d.problem("%s: labels that start with %s are reserved for the controller", key, apis.Prefix)
	case name == appsv1.DefaultDeploymentUniqueLabelKey:
		d.problem("%s: the label %s is reserved for the Deployment controller", key, name)
	}
	return name
}

// number reads a non-negative number from an annotation, or returns nil if there is no valid number.
func (d *declaration) number(key string) *int32 {
	word, declared := d.Annotations[key]
	if !declared {
		return nil
	}
	delete(d.Annotations, key)
	n, err := strconv.ParseUint(word, 10, 31)
	if err != nil {
		d.problem("%s: %q is not a whole number from 0 to %d", key, word, math.MaxInt32)
		return nil
	}
	return new(int32(n))
}

func (d *declaration) take(key string) string {
	word := d.Annotations[key]
	delete(d.Annotations, key)
	return word
}

func (d *declaration) problem(format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}
