package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// ErrPaused says that the rollout of a Deployment is paused.
var ErrPaused = errors.New("it is paused")

// The reasons for which pods cannot be restarted through their owner.
var (
	errNoTemplate  = errors.New("it has no pod template at .spec.template")
	errNoRollOut   = errors.New("its controller does not replace pods when the pod template changes")
	errRestarted   = errors.New("it was restarted less than a second ago: wait a moment")
	errAnnotations = errors.New("its schema does not allow annotations in .spec.template.metadata")
	errInPlace     = errors.New("its strategy updates pods in place, so a changed annotation restarts nothing")
)

// RestartField finds the field of an object that takes the time of a restart: the path of
// the kind's own, if it has one, or an annotation of the pod template.
func RestartField(kind Kind, obj *unstructured.Unstructured, schema map[string]any, own string) ([]string, error) {
	if own != "" {
		return fieldpath.FieldNames(own)
	}
	if InPlace(obj) {
		return nil, errInPlace
	}
	path, err := restartPath(kind, obj, schema)
	if err != nil {
		return nil, err
	}
	return append(path, apis.AnnotationRestartedAt), nil
}

// InPlace reports whether an object changes the pods that it has where it can, as
// those of OpenKruise do.
func InPlace(obj *unstructured.Unstructured) bool {
	strategy := fieldpath.Object(obj.Object, "spec", "updateStrategy")
	rolling := fieldpath.Object(strategy, "rollingUpdate")
	for _, value := range []any{strategy["type"], rolling["podUpdatePolicy"], rolling["rollingUpdateType"]} {
		if policy, _ := value.(string); strings.HasPrefix(policy, "InPlace") {
			return true
		}
	}
	return false
}

// restartPath finds the annotations of an object whose change makes its
// controller replace the pods, as the built-in kinds and those that
// "run-controller" reconciles do. Of other kinds it is believed of those that
// have a pod template where these have it. The schema is that of the kind, and is
// needed for the other kinds alone.
func restartPath(kind Kind, obj *unstructured.Unstructured, schema map[string]any) ([]string, error) {
	template := []string{"spec", "template"}
	switch {
	case kind.Reconciled():
		// Without a template the object's own are copied to the pods.
		template = kind.Mapping.TemplatePath
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

// mayRollOut returns an error if an object of a built-in kind cannot be restarted.
func mayRollOut(kind Kind, obj *unstructured.Unstructured) error {
	if !kind.RollsOut() {
		if _, has, err := unstructured.NestedMap(obj.Object, "spec", "template"); err == nil && !has {
			return errNoTemplate
		}
		return errNoRollOut
	}
	if paused, _, _ := unstructured.NestedBool(obj.Object, "spec", "paused"); paused {
		return ErrPaused
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
		at = fieldpath.Resolve(schema, at)
		if fieldpath.Open(at) {
			return nil
		}
		if at = fieldpath.Object(at, "properties", name); at == nil {
			return errAnnotations
		}
	}
	return nil
}

// RestartTime returns the time to write into the field of an object that restarts it.
// Times have whole seconds; a second restart in the same one would change nothing, and is
// refused.
func RestartTime(obj *unstructured.Unstructured, path []string, at time.Time) (string, error) {
	now := at.Format(time.RFC3339)
	before, _, err := unstructured.NestedString(obj.Object, path...)
	if err != nil {
		return "", fmt.Errorf("read .%s: %w", strings.Join(path, "."), err)
	}
	if before == now {
		return "", errRestarted
	}
	return now, nil
}
