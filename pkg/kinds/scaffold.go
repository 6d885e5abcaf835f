package kinds

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Scaffold describes a kind for a new CRD.
type Scaffold struct {
	Kind         string // the name in CamelCase
	Group        string // the API group, which is a domain
	Plan         Strategy
	ReplicasPath *fieldpath.Path // nil means .spec.replicas or, for the strategy "nodes", no replica field
	Image        string          // the default of .spec.image
}

//go:embed scaffold.yaml
var manifest string

// CRD returns a complete CRD for a kind that "run-controller" reconciles, or an error if the scaffold is invalid.
func (s Scaffold) CRD() (*unstructured.Unstructured, error) {
	if err := s.validate(); err != nil {
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
	var text bytes.Buffer
	if err := template.Must(template.New("scaffold").Parse(manifest)).Execute(&text, map[string]any{
		"Kind": s.Kind, "Group": s.Group, "Plural": s.plural().Resource, "Singular": strings.ToLower(s.Kind),
		"Plan": s.Plan, "Keeps": rules.keeps, "Count": fieldpath.Fields(count...).String(),
		"Image": s.Image, "MaxNameLength": apis.MaxNameLength,
	}); err != nil {
		return nil, err
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text.Bytes(), &crd.Object); err != nil {
		return nil, err
	}
	if count != nil {
		addCount(fieldpath.Object(CRDVersion(crd, "storage", true), "schema", "openAPIV3Schema", "properties", "spec"), count[1:])
	}
	return crd, nil
}

// addCount adds the replica field to the schema of .spec. Its default applies only if enclosing objects have defaults.
func addCount(spec map[string]any, names []string) {
	last := len(names) - 1
	for _, name := range names[:last] {
		next := map[string]any{"type": "object", "description": "The desired state.", "default": map[string]any{}, "properties": map[string]any{}}
		fieldpath.Object(spec, "properties")[name] = next
		spec = next
	}
	fieldpath.Object(spec, "properties")[names[last]] = map[string]any{
		"type": "integer", "format": "int32", "description": "The desired number of pods.", "default": int64(1), "minimum": int64(0),
	}
}

// plural returns the resource with the plural that clients guess, but corrects wrong guesses such as "boxs" and "gatewaies".
func (s Scaffold) plural() schema.GroupVersionResource {
	guess, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.Group, Version: "v1alpha1", Kind: s.Kind})
	for _, end := range []string{"x", "z", "ch", "sh"} {
		if strings.HasSuffix(singular.Resource, end) {
			guess.Resource = singular.Resource + "es"
		}
	}
	if regexp.MustCompile("[aeiou]y$").MatchString(singular.Resource) {
		guess.Resource = singular.Resource + "s"
	}
	return guess
}

func (s Scaffold) validate() error {
	if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(s.Kind) {
		return fmt.Errorf("invalid kind %q: it must be in CamelCase, as in \"MyApp\": a capital letter, then letters and digits", s.Kind)
	}
	if longest := validation.DNS1035LabelMaxLength - len("List"); len(s.Kind) > longest {
		return fmt.Errorf("invalid kind %q: it must be no longer than %d characters", s.Kind, longest)
	}
	if len(validation.IsDNS1123Subdomain(s.Group)) > 0 || !strings.Contains(s.Group, ".") {
		return fmt.Errorf("invalid group %q: it must be a domain in lower case, as in example.com", s.Group)
	}
	for _, theirs := range []string{"k8s.io", "kubernetes.io"} {
		if s.Group == theirs || strings.HasSuffix(s.Group, "."+theirs) {
			return fmt.Errorf("invalid group %q: groups that end in %s are reserved for the Kubernetes project", s.Group, theirs)
		}
	}
	if crd := s.plural().GroupResource().String(); len(crd) > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("invalid group %q: with the plural, %s must be no longer than %d characters", s.Group, crd, validation.DNS1123SubdomainMaxLength)
	}
	return nil
}

// countFields returns the path of the replica field, or nil if the kind has no count.
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
		// A CRD allows only names without special characters, separated by dots, in the paths of /scale.
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`).MatchString(name) {
			return nil, fmt.Errorf("%s has the field %q: in a path behind /scale there are only letters, digits, _ and -, and no digit or - at the start", s.ReplicasPath, name)
		}
	}
	if slices.Contains([]string{"image", "command", "env"}, names[1]) {
		return nil, fmt.Errorf("%s cannot be the replica count: .spec.%s configures the containers", s.ReplicasPath, names[1])
	}
	return names, nil
}
