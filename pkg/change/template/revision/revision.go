package revision

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

var (
	errNoTemplate = errors.New("there is no pod template")
	errNoNumber   = errors.New("it has no revision number")
)

// The annotations in which controllers number the ReplicaSets of an object.
const (
	annotationDeployment = "deployment.kubernetes.io/revision"
	annotationRollout    = "rollout.argoproj.io/revision"
)

// The labels that tell the pods of one revision from those of another.
const (
	labelDeployment = "pod-template-hash"
	labelRollout    = "rollouts-pod-template-hash"
	labelController = "controller-revision-hash"
)

// Revision is what an object once was in the fields that its pods are made from.
type Revision struct {
	// Number orders the revisions. A controller gives an old revision that an object
	// returns to a new number.
	Number int64
	// Name is that of the ControllerRevision or the ReplicaSet.
	Name string
	// Created is when the revision got its number, as far as that is known.
	Created time.Time
	// By and Cause say who changed the object and why; "" is not known.
	By, Cause string
	Fields    []Field

	labels map[string]string
}

// FromReplicaSet reads the revision that a ReplicaSet of a Deployment or of a Rollout of
// Argo is.
func FromReplicaSet(obj *unstructured.Unstructured) (Revision, error) {
	word := obj.GetAnnotations()[annotationDeployment]
	if word == "" {
		word = obj.GetAnnotations()[annotationRollout]
	}
	number, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return Revision{}, errNoNumber
	}
	template, found, err := unstructured.NestedMap(obj.Object, "spec", "template")
	if err != nil || !found {
		return Revision{}, errNoTemplate
	}
	// The controller has added these to the template of the object.
	for _, label := range []string{labelDeployment, labelRollout} {
		unstructured.RemoveNestedField(template, "metadata", "labels", label)
	}
	dropEncoded(template)
	r := read(obj, number)
	r.Fields = []Field{{fieldpath.Fields("spec", "template"), template}}
	return r, nil
}

// FromControllerRevision reads a ControllerRevision. paths are the fields that it keeps,
// where the kind says so; otherwise its data is a patch, which names the fields that it
// replaces as a whole.
func FromControllerRevision(obj *unstructured.Unstructured, paths []fieldpath.Path) (Revision, error) {
	number, found, err := unstructured.NestedInt64(obj.Object, "revision")
	if err != nil || !found {
		return Revision{}, errNoNumber
	}
	data, found, err := unstructured.NestedMap(obj.Object, "data")
	if err != nil || !found {
		return Revision{}, errNoTemplate
	}
	r := read(obj, number)
	if _, at := fieldpath.Fields("revision").Manager(obj); at.After(r.Created) {
		r.Created = at // when the revision got its number
	}
	if len(paths) > 0 {
		r.Fields, err = FieldsAt(data, paths)
		return r, err
	}
	for _, names := range replaced(data, nil) {
		value, _, err := unstructured.NestedMap(data, names...)
		if err != nil {
			return Revision{}, fmt.Errorf("read .%s: %w", strings.Join(names, "."), err)
		}
		dropEncoded(value)
		r.Fields = append(r.Fields, Field{fieldpath.Fields(names...), value})
	}
	if len(r.Fields) == 0 {
		return Revision{}, errNoTemplate
	}
	return r, nil
}

func read(obj *unstructured.Unstructured, number int64) Revision {
	return Revision{
		Number: number, Name: obj.GetName(), Created: obj.GetCreationTimestamp().Time, labels: obj.GetLabels(),
		By: obj.GetAnnotations()[apis.AnnotationChangedBy], Cause: obj.GetAnnotations()[apis.AnnotationChangeCause],
	}
}

// replacePatch is what strategic merge patches call a part that replaces what is there.
const replacePatch = "$patch"

// replaced are the names of the fields of a patch that it replaces as a whole, sorted.
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

// dropEncoded drops from a pod template what is there only because a controller encoded
// it from its type: the word that makes it a patch, a time that is null, and resources of
// containers that are empty.
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

// Made reports whether the labels of a pod say that it was made from the revision.
func (r Revision) Made(pod map[string]string) bool {
	for _, label := range []string{labelDeployment, labelRollout, labelController} {
		hash := pod[label]
		if hash != "" && (hash == r.labels[label] || label == labelController && (hash == r.Name || strings.HasSuffix(r.Name, "-"+hash))) {
			return true
		}
	}
	return false
}

// Copy is the fields of the revision, for the caller to change.
func (r Revision) Copy() []Field {
	all := slices.Clone(r.Fields)
	for i, f := range all {
		all[i].Value = runtime.DeepCopyJSONValue(f.Value)
	}
	return all
}
