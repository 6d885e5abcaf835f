package revision

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

var (
	errNoTemplate = errors.New("there is no pod template")
	errNoNumber   = errors.New("it has no revision number")
)

// The annotations in which controllers store the revision numbers of ReplicaSets.
const (
	annotationDeployment = "deployment.kubernetes.io/revision"
	annotationRollout    = "rollout.argoproj.io/revision"
)

// The labels that distinguish the pods of different revisions.
const (
	labelDeployment = "pod-template-hash"
	labelRollout    = "rollouts-pod-template-hash"
	labelController = "controller-revision-hash"
)

// Revision is the current state or an earlier state of the fields that define the pods.
type Revision struct {
	// Number orders the revisions. An old revision to which an object returns gets a new number.
	Number int64
	// Name is the name of the ControllerRevision or ReplicaSet.
	Name string
	// Created is when the revision got its number or, if this time is unknown, when the revision was created.
	Created time.Time
	// By is the user who changed the object, and Cause is the reason. Both are "" if they are unknown.
	By, Cause string
	Fields    []Field

	labels map[string]string
	// earlier are the previous numbers of a ReplicaSet.
	earlier []string
	// first is when the revision was created and first numbered.
	first time.Time
	// numbered is when the controller last wrote to a ReplicaSet, which got its number at that time or earlier.
	numbered time.Time
}

// Read reads a revision from a ReplicaSet of a Deployment or an Argo Rollout, or from a
// ControllerRevision. declared are the fields, without values, that the kind declares for its ControllerRevisions.
func Read(obj *unstructured.Unstructured, declared []Field) (Revision, error) {
	if obj.GetKind() == "ReplicaSet" {
		return readReplicaSet(obj)
	}
	return readControllerRevision(obj, declared)
}

func readReplicaSet(obj *unstructured.Unstructured) (Revision, error) {
	annotation := annotationDeployment
	if obj.GetAnnotations()[annotation] == "" {
		annotation = annotationRollout
	}
	number, err := strconv.ParseInt(obj.GetAnnotations()[annotation], 10, 64)
	if err != nil {
		return Revision{}, errNoNumber
	}
	template, found, err := unstructured.NestedMap(obj.Object, "spec", "template")
	if err != nil || !found {
		return Revision{}, errNoTemplate
	}
	// The controller added these labels.
	for _, label := range []string{labelDeployment, labelRollout} {
		unstructured.RemoveNestedField(template, "metadata", "labels", label)
	}
	dropEncoded(template)
	r := newRevision(obj, number)
	_, r.numbered = fieldpath.Annotation(annotation).Manager(obj)
	r.earlier = strings.Split(obj.GetAnnotations()[annotation+"-history"], ",")
	r.Fields = []Field{{Path: fieldpath.Fields("spec", "template"), Value: template}}
	return r, nil
}

// readControllerRevision reads the declared fields. Without them, the data is a patch with directives
// that replace fields, and only pod templates are read.
func readControllerRevision(obj *unstructured.Unstructured, declared []Field) (Revision, error) {
	number, found, err := unstructured.NestedInt64(obj.Object, "revision")
	if err != nil || !found {
		return Revision{}, errNoNumber
	}
	data, found, err := unstructured.NestedMap(obj.Object, "data")
	if err != nil || !found {
		return Revision{}, errNoTemplate
	}
	r := newRevision(obj, number)
	if _, at := fieldpath.Fields("revision").Manager(obj); at.After(r.Created) {
		r.Created = at // when the revision got its number
	}
	if len(declared) > 0 {
		r.Fields, err = FieldsAt(data, declared)
		return r, err
	}
	fields := replaced(data, nil)
	for _, names := range fields[:min(len(fields), 10)] { // other clients can write many fields
		value, _, _ := unstructured.NestedMap(data, names...) // replaced has found this object
		if !isTemplate(names, value) {
			continue // the client that wrote the revision can choose any field
		}
		dropEncoded(value)
		r.Fields = append(r.Fields, Field{Path: fieldpath.Fields(names...), Value: value})
	}
	if len(r.Fields) == 0 {
		return Revision{}, errNoTemplate
	}
	return r, nil
}

// isTemplate reports whether a field is a pod template: .spec.template, or an object below .spec with spec.containers.
func isTemplate(names []string, value map[string]any) bool {
	containers, _ := fieldpath.Object(value, "spec")["containers"].([]any)
	return slices.Equal(names, []string{"spec", "template"}) || names[0] == "spec" && len(names) > 1 && len(containers) > 0
}

func newRevision(obj *unstructured.Unstructured, number int64) Revision {
	created := obj.GetCreationTimestamp().Time
	return Revision{
		first: created, Number: number, Name: obj.GetName(), Created: created, labels: obj.GetLabels(),
		By: obj.GetAnnotations()[apis.AnnotationChangedBy], Cause: obj.GetAnnotations()[apis.AnnotationChangeCause],
	}
}

// replacePatch is the key of the directive that makes a strategic merge patch replace a value.
const replacePatch = "$patch"

// replaced returns the sorted paths of the fields that a patch replaces.
func replaced(data map[string]any, at []string) [][]string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		inner, is := data[name].(map[string]any)
		if !is {
			continue
		}
		within := append(slices.Clone(at), name)
		if inner[replacePatch] == "replace" {
			all = append(all, within)
			continue
		}
		all = append(all, replaced(inner, within)...)
	}
	return all
}

// dropEncoded removes fields that a controller added to a pod template: the patch directive and, from
// encoding the Go type, a null timestamp and empty resources of containers.
func dropEncoded(template map[string]any) {
	delete(template, replacePatch)
	metadata := fieldpath.Object(template, "metadata")
	if at, there := metadata["creationTimestamp"]; there && at == nil {
		delete(metadata, "creationTimestamp")
	}
	spec := fieldpath.Object(template, "spec")
	for _, field := range []string{"containers", "initContainers"} {
		for _, container := range fieldpath.Objects(spec[field]) {
			if resources, is := container["resources"].(map[string]any); is && len(resources) == 0 {
				delete(container, "resources")
			}
		}
	}
}

// Made reports whether a pod was created from the revision, according to the pod's labels.
func (r Revision) Made(pod map[string]string) bool {
	for _, label := range []string{labelDeployment, labelRollout, labelController, apis.LabelTemplateHash} {
		hash := pod[label]
		if hash != "" && (hash == r.labels[label] || label == labelController && (hash == r.Name || strings.HasSuffix(r.Name, "-"+hash))) {
			return true
		}
	}
	return false
}
