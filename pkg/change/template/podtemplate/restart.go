package podtemplate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// ErrPaused means that the rollout of a Deployment is paused.
var ErrPaused = errors.New("it is paused")

// ErrNoRollOut means that a new pod template changes no existing pod.
var ErrNoRollOut = errors.New("its controller does not replace pods when the pod template changes")

// The other reasons why pods cannot be restarted through their owner.
var (
	errNoTemplate  = errors.New("it has no pod template at .spec.template")
	errRestarted   = errors.New("it was restarted less than a second ago: wait a moment")
	errAnnotations = errors.New("its schema does not allow annotations in .spec.template.metadata")
	errInPlace     = errors.New("its strategy updates pods in place, so a changed annotation restarts nothing")
)

// RestartField returns the path of the field that stores the time of a restart. own is the path that is
// known for the kind. If own is "", the field is an annotation whose change causes the controller to replace
// the pods. An unknown kind must have a template at .spec.template, and its schema must allow annotations.
func RestartField(kind kinds.Kind, obj *unstructured.Unstructured, schema map[string]any, own string) ([]string, error) {
	template, spec := []string{"spec", "template"}, fieldpath.Object(obj.Object, "spec")
	containers, _ := fieldpath.Object(spec, "template", "spec")["containers"].([]any)
	annotations := fieldpath.Fields("spec", "template", "metadata", "annotations")
	declared, taken := annotations.In(schema)
	switch {
	case own != "":
		return fieldpath.FieldNames(own)
	case InPlace(obj):
		return nil, errInPlace
	case kind.Reconciled():
		// If the kind has no template, the pods get the annotation from the object.
		template = kind.Mapping.TemplatePath
	case kind.RollsOut() && spec["paused"] == true:
		return nil, ErrPaused
	case kind.RollsOut(): // the API allows annotations in its template
	case kind.BuiltIn() && spec["template"] != nil:
		return nil, ErrNoRollOut
	case len(containers) == 0: // built-in kinds without a template, too
		return nil, errNoTemplate
	case taken < len(annotations.Steps) && !fieldpath.Open(declared):
		return nil, errAnnotations
	}
	return slices.Concat(template, []string{"metadata", "annotations", apis.AnnotationRestartedAt}), nil
}

// InPlace reports whether the controller of an object can update existing pods in place, as in OpenKruise.
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

// KeptBack reports whether the partition of a StatefulSet keeps a pod from being replaced.
func KeptBack(kind kinds.Kind, obj *unstructured.Unstructured, pod string) bool {
	strategy := fieldpath.Object(obj.Object, "spec", "updateStrategy", "rollingUpdate")
	partition, partitioned := fieldpath.Integer(strategy["partition"])
	first, _ := fieldpath.Integer(fieldpath.Object(obj.Object, "spec", "ordinals")["start"])
	ordinal, err := strconv.ParseInt(pod[strings.LastIndex(pod, "-")+1:], 10, 64)
	return kind.CRD() == kinds.StatefulSets && partitioned && err == nil && ordinal-first < partition
}

// RestartTime returns the time to write to the restart field of an object. Times have a resolution of
// one second, so another restart in the same second would change nothing and is an error. A field other than
// the annotation restarts only the pods that were created before its time, so the time is the next second.
func RestartTime(obj *unstructured.Unstructured, path []string, at time.Time) (string, error) {
	if path[len(path)-1] != apis.AnnotationRestartedAt {
		at = at.Add(time.Second)
	}
	now := at.Format(time.RFC3339)
	before, _, err := unstructured.NestedString(obj.Object, path...)
	if err != nil {
		return "", fmt.Errorf("read .%s: %s", strings.Join(path, "."), escape.Line(err.Error()))
	}
	if before == now {
		return "", errRestarted
	}
	return now, nil
}
