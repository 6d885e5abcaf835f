package replica

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// The reasons for which pods cannot be restarted through their owner.
var (
	errNoTemplate  = errors.New("it has no pod template at .spec.template")
	errNoRollOut   = errors.New("its controller does not replace the pods that it has")
	errPaused      = errors.New("it is paused (run \"kubectl rollout resume\" first)")
	errRestarted   = errors.New("it was restarted within this second: wait a moment")
	errAnnotations = errors.New("its schema keeps no annotations in .spec.template")
)

// RestartPath finds the annotations of an object whose change makes its
// controller replace the pods, as the built-in kinds and those that
// "run-controller" reconciles do. Of other kinds it is believed of those that
// have a pod template where these have it. The schema is that of the kind, and is
// needed for the other kinds alone.
func RestartPath(kind Kind, obj *unstructured.Unstructured, schema map[string]any) ([]string, error) {
	template := []string{"spec", "template"}
	switch {
	case kind.Reconciled():
		// Without a template the object's own are copied to the pods.
		template = kind.Recipe.TemplatePath
	case kind.BuiltIn():
		if err := mayRollOut(kind, obj); err != nil {
			return nil, err
		}
	default:
		if err := hasTemplate(obj, schema); err != nil {
			return nil, err
		}
	}
	return slices.Concat(template, []string{"metadata", "annotations"}), nil
}

// mayRollOut says why a built-in kind cannot be restarted: as for kubectl, which
// names the same three.
func mayRollOut(kind Kind, obj *unstructured.Unstructured) error {
	if kind.Resource.Group != "apps" || !slices.Contains([]string{"deployments", "statefulsets", "daemonsets"}, kind.Resource.Resource) {
		return errNoRollOut
	}
	if paused, _, err := unstructured.NestedBool(obj.Object, "spec", "paused"); err == nil && paused {
		return errPaused
	}
	return nil
}

// hasTemplate says why an object of a kind that this program knows only from its
// schema cannot be restarted.
func hasTemplate(obj *unstructured.Unstructured, schema map[string]any) error {
	containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return errNoTemplate
	}
	at := schema
	for _, name := range []string{"spec", "template", "metadata", "annotations"} {
		at = resolved(schema, at)
		if open, _ := at["x-kubernetes-preserve-unknown-fields"].(bool); open {
			return nil
		}
		properties, _ := at["properties"].(map[string]any)
		next, ok := properties[name].(map[string]any)
		if !ok {
			return errAnnotations
		}
		at = next
	}
	return nil
}

// Restart sets the annotation in an object that was read, and returns the merge
// patch for it. Times are told to the second; a second restart in the same one
// would change nothing, and is refused.
func Restart(obj *unstructured.Unstructured, path []string, at time.Time) (map[string]any, error) {
	path = append(slices.Clone(path), apis.AnnotationRestartedAt)
	now := at.Format(time.RFC3339)
	before, _, err := unstructured.NestedString(obj.Object, path...)
	if err != nil {
		return nil, fmt.Errorf("read its annotations: %w", err)
	}
	if before == now {
		return nil, errRestarted
	}
	patch := map[string]any{}
	for _, in := range []map[string]any{obj.Object, patch} {
		if err := unstructured.SetNestedField(in, now, path...); err != nil {
			return nil, fmt.Errorf("set the annotation: %w", err)
		}
	}
	return patch, nil
}
