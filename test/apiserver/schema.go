package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	gvkExtension    = "x-kubernetes-group-version-kind"
	preserveUnknown = "x-kubernetes-preserve-unknown-fields"
	schemaRef       = "#/components/schemas/"
)

// schemas makes schemas of Go types, by the name of the type.
type schemas map[string]*spec.Schema

// atomicTypes are the structs that are applied as a whole, and elementKeys the lists whose
// elements have more than the one key that the tag of the field names.
func atomicTypes() map[string]bool {
	return map[string]bool{
		"LabelSelector": true, "NodeSelector": true, "NodeSelectorTerm": true, "ObjectReference": true, "LocalObjectReference": true, "SecretKeySelector": true,
		"ConfigMapKeySelector": true, "ObjectFieldSelector": true, "ResourceFieldSelector": true, "TypedLocalObjectReference": true, "RoleRef": true,
	}
}

func elementKeys() map[string][]any {
	return map[string][]any{
		"ContainerPort": {"containerPort", "protocol"}, "ServicePort": {"port", "protocol"}, "TopologySpreadConstraint": {"topologyKey", "whenUnsatisfiable"},
	}
}

// of is the schema of a Go type: structs are named, and referred to.
func (s schemas) of(t reflect.Type) *spec.Schema {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return spec.DateTimeProperty()
	case reflect.TypeFor[metav1.Duration]():
		return spec.StringProperty()
	case reflect.TypeFor[apiresource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		either := &spec.Schema{}
		either.AddExtension("x-kubernetes-int-or-string", true)
		return either
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		anything := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		anything.AddExtension(preserveUnknown, true)
		return anything
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return spec.BooleanProperty()
	case reflect.Int32:
		return spec.Int32Property()
	case reflect.Int, reflect.Int64:
		return spec.Int64Property()
	case reflect.Float32, reflect.Float64:
		return spec.Float64Property()
	case reflect.Map:
		return spec.MapProperty(s.of(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return spec.StrFmtProperty("byte")
		}
		return spec.ArrayProperty(s.of(t.Elem()))
	case reflect.Struct:
		name := nameOf(t)
		if s[name] == nil {
			s[name] = &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
			s.describe(s[name], t)
		}
		return spec.RefSchema(schemaRef + name)
	}
	return spec.StringProperty()
}

func nameOf(t reflect.Type) string {
	return "io." + strings.NewReplacer("/", ".", "k8s.io", "k8s").Replace(t.PkgPath()) + "." + t.Name()
}

// describe adds the fields of a struct to its schema.
func (s schemas) describe(to *spec.Schema, t reflect.Type) {
	words := map[string]string{}
	if told, ok := reflect.TypeAssert[interface{ SwaggerDoc() map[string]string }](reflect.Zero(t)); ok {
		words = told.SwaggerDoc()
	}
	if to.Description == "" {
		to.Description = words[""]
	}
	if atomicTypes()[t.Name()] {
		to.AddExtension("x-kubernetes-map-type", "atomic")
	}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") || field.Anonymous && name == "" {
			s.describe(to, field.Type)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		property := s.of(field.Type)
		if property.Ref.String() != "" && words[name] != "" {
			// Beside a reference nothing else counts.
			property = &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{*property}, Default: map[string]any{}}}
		}
		property.Description = words[name]
		if name == "protocol" {
			property.Default = "TCP" // it is part of the key of a port
		}
		s.listType(property, field)
		to.Properties[name] = *property
	}
}

// listType adds how a list is merged.
func (schemas) listType(property *spec.Schema, field reflect.StructField) {
	if field.Type.Kind() != reflect.Slice || field.Type.Elem().Kind() == reflect.Uint8 {
		return
	}
	key := field.Tag.Get("patchMergeKey")
	switch {
	case key != "":
		keys := elementKeys()[field.Type.Elem().Name()]
		if keys == nil {
			keys = []any{key}
		}
		property.AddExtension("x-kubernetes-list-type", "map")
		property.AddExtension("x-kubernetes-list-map-keys", keys)
		property.AddExtension("x-kubernetes-patch-merge-key", key)
		property.AddExtension("x-kubernetes-patch-strategy", "merge")
	case field.Tag.Get("patchStrategy") == "merge":
		property.AddExtension("x-kubernetes-list-type", "set")
	default:
		property.AddExtension("x-kubernetes-list-type", "atomic")
	}
}

// customSchema makes the schema of objects of what a CRD has under openAPIV3Schema.
func customSchema(properties map[string]any) (*spec.Schema, error) {
	of := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, of); err != nil {
		return nil, fmt.Errorf("read the schema of a CRD: %w", err)
	}
	if len(properties) == 0 {
		of.AddExtension(preserveUnknown, true)
	}
	if of.Properties == nil {
		of.Properties = map[string]spec.Schema{}
	}
	of.Properties["apiVersion"], of.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	metadata.AddExtension(preserveUnknown, true)
	of.Properties["metadata"] = metadata
	return of, nil
}

// addKind adds the schema of a kind, and of all that it refers to.
func (s schemas) addKind(gvk schema.GroupVersionKind, custom *spec.Schema) {
	var of *spec.Schema
	if custom != nil {
		of = new(*custom)
		of.Properties = maps.Clone(custom.Properties)
		of.Properties["metadata"] = *s.of(reflect.TypeFor[metav1.ObjectMeta]())
		s["com."+gvk.Group+"."+gvk.Version+"."+gvk.Kind] = of
	} else {
		t := scheme.Scheme.AllKnownTypes()[gvk]
		if t == nil {
			return // nothing is known of CRDs themselves
		}
		s.of(t)
		of = s[nameOf(t)]
	}
	if of.Extensions[strings.ToLower(gvkExtension)] == nil {
		of.Extensions = maps.Clone(of.Extensions)
		of.AddExtension(gvkExtension, []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
	}
}
