package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// prepare prunes unknown fields, sets defaults, and validates a written object.
func prepare(w write, before, after *unstructured.Unstructured) error {
	gvk := w.resource.gvk(w.version.name)
	if s := w.version.schema; s != nil {
		var unknown []string
		prune(after.Object, s, "", &unknown)
		if w.strict && len(unknown) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("strict decoding error: unknown field %q", strings.Join(unknown, `", unknown field "`)))
		}
		setDefaults(after.Object, s)
	} else if err := decodes(w, after); err != nil {
		return err
	}
	defaultWorkload(after)
	if w.trusted {
		return nil
	}
	errs := validateMetadata(after)
	if s := w.version.schema; s != nil {
		errs = append(errs, validateCustom(before, after, s)...)
	} else {
		errs = append(errs, validateBuiltIn(w, before, after)...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(gvk.GroupKind(), after.GetName(), errs)
	}
	return nil
}

// decodes returns an error if a built-in object does not decode into its Go type.
func decodes(w write, obj *unstructured.Unstructured) error {
	gvk := w.resource.gvk(w.version.name)
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil //nolint:nilerr // CRDs have no Go type here
	}
	if w.strict {
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, typed, true)
		if strict, is := runtime.AsStrictDecodingError(err); is {
			return apierrors.NewBadRequest(strict.Error())
		}
	}
	text, err := json.Marshal(obj.Object)
	if err == nil {
		err = json.Unmarshal(text, typed)
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
	}
	return nil
}

// defaultWorkload sets those defaults of built-in workloads that affect rollouts.
func defaultWorkload(obj *unstructured.Unstructured) {
	defaults := map[string]map[string]any{
		"apps/v1.Deployment": {"replicas": int64(1), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600), "strategy": map[string]any{
			"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}}},
		"apps/v1.ReplicaSet": {"replicas": int64(1)},
		"apps/v1.StatefulSet": {"replicas": int64(1), "revisionHistoryLimit": int64(10), "podManagementPolicy": "OrderedReady", "updateStrategy": map[string]any{
			"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}},
		"apps/v1.DaemonSet": {"revisionHistoryLimit": int64(10), "updateStrategy": map[string]any{
			"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}}},
		"batch/v1.Job": {"parallelism": int64(1), "completions": int64(1), "backoffLimit": int64(6)},
		"v1.Pod":       {"restartPolicy": "Always", "terminationGracePeriodSeconds": int64(30)},
	}[obj.GetAPIVersion()+"."+obj.GetKind()]
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	for name, value := range defaults {
		if _, there := spec[name]; !there {
			spec[name] = value
		}
	}
}

func validateMetadata(obj *unstructured.Unstructured) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := metav1validation.ValidateLabels(obj.GetLabels(), metadata.Child("labels"))
	valid := validation.IsDNS1123Subdomain
	if strings.HasPrefix(obj.GetAPIVersion(), "rbac.") {
		valid = func(string) []string { return nil }
	}
	for _, problem := range valid(obj.GetName()) {
		errs = append(errs, field.Invalid(metadata.Child("name"), obj.GetName(), problem))
	}
	for key := range obj.GetAnnotations() {
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			errs = append(errs, field.Invalid(metadata.Child("annotations"), key, problem))
		}
	}
	return errs
}

// validateCustom validates an object against the schema of its CRD. Like a server with validation
// ratcheting, it ignores errors that the stored object also has.
func validateCustom(before, after *unstructured.Unstructured, s *spec.Schema) field.ErrorList {
	errs := schemaErrors(after, s)
	if before == nil || len(errs) == 0 {
		return errs
	}
	stored := schemaErrors(before, s)
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return slices.ContainsFunc(stored, func(other *field.Error) bool { return other.Error() == err.Error() })
	})
}

func schemaErrors(obj *unstructured.Unstructured, s *spec.Schema) field.ErrorList {
	var errs field.ErrorList
	for _, err := range validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(obj.Object).Errors {
		invalid := (*openapierrors.Validation)(nil)
		if !errors.As(err, &invalid) {
			errs = append(errs, field.Invalid(nil, "", err.Error()))
			continue
		}
		at := field.NewPath(strings.TrimPrefix(invalid.Name, "."))
		if invalid.Code() == openapierrors.RequiredFailCode {
			errs = append(errs, field.Required(at, ""))
		} else {
			errs = append(errs, field.Invalid(at, invalid.Value, invalid.Error()))
		}
	}
	return errs
}

// validateBuiltIn applies the most important validation rules of built-in types.
func validateBuiltIn(w write, before, after *unstructured.Unstructured) field.ErrorList {
	if w.subresource == "status" {
		return nil
	}
	at := field.NewPath("spec")
	spec, _ := after.Object["spec"].(map[string]any)
	var errs field.ErrorList
	if replicas, is := spec["replicas"].(int64); is && replicas < 0 {
		errs = append(errs, field.Invalid(at.Child("replicas"), replicas, "must be greater than or equal to 0"))
	}
	switch w.resource.kind {
	case "Pod":
		errs = append(errs, validatePodSpec(spec, at)...)
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
		template, _, _ := unstructured.NestedMap(spec, "template", "spec")
		errs = append(errs, validatePodSpec(template, at.Child("template", "spec"))...)
		errs = append(errs, validateSelector(spec, at)...)
		if before != nil {
			was, _, _ := unstructured.NestedMap(before.Object, "spec", "selector")
			if is, _, _ := unstructured.NestedMap(spec, "selector"); !reflect.DeepEqual(was, is) {
				errs = append(errs, field.Invalid(at.Child("selector"), is, "field is immutable"))
			}
		}
	}
	return errs
}

func validateSelector(spec map[string]any, at *field.Path) field.ErrorList {
	var typed struct {
		Selector *metav1.LabelSelector
		Template struct{ Metadata metav1.ObjectMeta }
	}
	if text, err := json.Marshal(spec); err != nil || json.Unmarshal(text, &typed) != nil || typed.Selector == nil {
		return field.ErrorList{field.Required(at.Child("selector"), "")}
	}
	set := typed.Template.Metadata.Labels
	if selector, err := metav1.LabelSelectorAsSelector(typed.Selector); err != nil || selector.Empty() || !selector.Matches(labels.Set(set)) {
		return field.ErrorList{field.Invalid(at.Child("template", "metadata", "labels"), set, "`selector` does not match template `labels`")}
	}
	return metav1validation.ValidateLabels(set, at.Child("template", "metadata", "labels"))
}

func validatePodSpec(spec map[string]any, at *field.Path) field.ErrorList {
	containers, _ := spec["containers"].([]any)
	if len(containers) == 0 {
		return field.ErrorList{field.Required(at.Child("containers"), "")}
	}
	var errs field.ErrorList
	for i, c := range containers {
		c, _ := c.(map[string]any)
		for _, name := range []string{"name", "image"} {
			if text, _ := c[name].(string); text == "" {
				errs = append(errs, field.Required(at.Child("containers").Index(i).Child(name), ""))
			}
		}
	}
	return errs
}
