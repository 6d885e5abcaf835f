package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// write describes a create, update, patch, or apply of an object.
type write struct {
	resource    *resource
	version     *version
	subresource string
	// manager is the field manager. managed is true if the managed fields are already updated.
	manager string
	managed bool
	dryRun  bool
	// strict means that unknown fields are errors.
	strict bool
	// trusted means that an Actor or the server itself writes, without validation.
	trusted bool
	// request is the request that causes the write. It is empty for a trusted write.
	request Request
}

// normal copies an object, and converts its values to the Go types of decoded JSON.
func normal(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	return decodeJSON(text)
}

func decodeJSON(text []byte) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &obj.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj.Object == nil {
		return nil, apierrors.NewBadRequest("the object is null")
	}
	return obj, nil
}

func keyOf(obj *unstructured.Unstructured) string { return obj.GetNamespace() + "/" + obj.GetName() }

// all returns the objects of a type, sorted by key. An empty namespace selects all.
func (s *Server) all(of schema.GroupResource, namespace string) []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, key := range slices.Sorted(maps.Keys(s.objects[of])) {
		if obj := s.objects[of][key]; namespace == "" || obj.GetNamespace() == namespace {
			list = append(list, obj)
		}
	}
	return list
}

func (s *Server) revision() int { return len(s.history) + 1 }

// add completes, validates, and stores a new object. A dry run does not store it.
func (s *Server) add(w write, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r := w.resource
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(fmt.Sprintf("%s%05x", obj.GetGenerateName(), s.uids+1))
	}
	if s.objects[r.gr()][keyOf(obj)] != nil {
		return nil, apierrors.NewAlreadyExists(r.gr(), obj.GetName())
	}
	if !w.trusted {
		for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"} {
			unstructured.RemoveNestedField(obj.Object, "metadata", field)
		}
		if w.version.status {
			delete(obj.Object, "status")
		}
	}
	if err := prepare(w, nil, obj); err != nil {
		return nil, err
	}
	if err := s.manage(w, nil, obj); err != nil {
		return nil, err
	}
	if obj.GetUID() == "" {
		s.uids++
		obj.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.uids)))
	}
	if created := obj.GetCreationTimestamp(); created.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
	if obj.GetGeneration() == 0 && (w.version.status || r.custom) {
		obj.SetGeneration(1)
	}
	if w.dryRun {
		return obj, nil
	}
	s.checkRequest(w.request, watch.Added, nil, obj)
	return s.commit(r, nil, obj)
}

// replace validates and stores a changed object, and completes a deletion that nothing blocks. Dry runs only validate.
func (s *Server) replace(w write, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r := w.resource
	if w.trusted && reflect.DeepEqual(before.Object, after.Object) {
		return before, nil // simulated controllers often write the same status again
	}
	if !w.trusted {
		for _, field := range []string{"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"} {
			keep(after.Object, before.Object, "metadata", field)
		}
		separate(w, before, after)
	}
	keep(after.Object, before.Object, "metadata", "resourceVersion")
	if err := prepare(w, before, after); err != nil {
		return nil, err
	}
	if err := s.manage(w, before, after); err != nil {
		return nil, err
	}
	if !w.dryRun {
		s.checkRequest(w.request, watch.Modified, before, after)
	}
	if equalButForTimes(before, after) {
		return before, nil // without a change, there is no event
	}
	if (w.version.status || r.custom) && changedSpec(w, before, after) && after.GetGeneration() == before.GetGeneration() {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if w.dryRun {
		return after, nil
	}
	after, err := s.commit(r, before, after)
	if err == nil && after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && (after.GetDeletionGracePeriodSeconds() == nil || *after.GetDeletionGracePeriodSeconds() == 0) {
		s.remove(r, after)
	}
	return after, err
}

// separate reverts all but the status and managedFields in a write to /status, and the status in other writes. It does
// nothing if the type has no /status.
func separate(w write, before, after *unstructured.Unstructured) {
	if !w.version.status {
		return
	}
	if w.subresource != "status" {
		keep(after.Object, before.Object, "status")
		return
	}
	status, found := after.Object["status"]
	managed := after.GetManagedFields()
	after.Object = before.DeepCopy().Object
	after.SetManagedFields(managed)
	if after.Object["status"] = status; !found {
		delete(after.Object, "status")
	}
}

// keep copies a field from before to after. If before does not have it, keep removes it from after.
func keep(after, before map[string]any, path ...string) {
	if was, found, _ := unstructured.NestedFieldCopy(before, path...); found {
		_ = unstructured.SetNestedField(after, was, path...)
	} else {
		unstructured.RemoveNestedField(after, path...)
	}
}

// changedSpec reports whether a write changes a field outside metadata and, if the type has /status, outside status.
func changedSpec(w write, before, after *unstructured.Unstructured) bool {
	wanted := func(obj *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(obj.Object)
		delete(fields, "metadata")
		if w.version.status {
			delete(fields, "status")
		}
		return fields
	}
	return !reflect.DeepEqual(wanted(before), wanted(after))
}

// equalButForTimes reports whether two objects are equal apart from the times in their managed fields.
func equalButForTimes(before, after *unstructured.Unstructured) bool {
	timeless := func(obj *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(obj.Object)
		metadata, _ := fields["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		fields["metadata"] = metadata
		managed, _ := metadata["managedFields"].([]any)
		managed = slices.Clone(managed)
		for i, entry := range managed {
			entry, _ := entry.(map[string]any)
			entry = maps.Clone(entry)
			delete(entry, "time")
			managed[i] = entry
		}
		metadata["managedFields"] = managed
		return fields
	}
	return reflect.DeepEqual(timeless(before), timeless(after))
}

// commit stores a change with a new revision. before is nil for a creation, and after is nil for a deletion.
func (s *Server) commit(r *resource, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if r.plural == "customresourcedefinitions" {
		if err := s.register(before, after); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if after != nil {
			establish(after)
		}
	}
	c := Change{Resource: r.gr(), Before: before, After: after, revision: s.revision() + 1}
	if s.objects[r.gr()] == nil {
		s.objects[r.gr()] = map[string]*unstructured.Unstructured{}
	}
	switch {
	case after == nil:
		c.Type, c.Before = watch.Deleted, before.DeepCopy()
		c.Before.SetResourceVersion(strconv.Itoa(c.revision))
		delete(s.objects[r.gr()], keyOf(before))
	case before == nil:
		c.Type = watch.Added
	default:
		c.Type = watch.Modified
	}
	if after != nil {
		after.SetResourceVersion(strconv.Itoa(c.revision))
		s.objects[r.gr()][keyOf(after)] = after
	}
	s.history = append(s.history, c)
	s.untold = append(s.untold, c)
	close(s.changed)
	s.changed = make(chan struct{})
	return after, nil
}

// establish sets the status of a CRD, with the condition Established. It skips a CRD that already has conditions.
func establish(crd *unstructured.Unstructured) {
	if _, found, _ := unstructured.NestedSlice(crd.Object, "status", "conditions"); found {
		return
	}
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []any
	for _, name := range []string{"NamesAccepted", "Established"} {
		conditions = append(conditions, map[string]any{"type": name, "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted", "lastTransitionTime": now})
	}
	names, _, _ := unstructured.NestedMap(crd.Object, "spec", "names")
	crd.Object["status"] = map[string]any{"conditions": conditions, "acceptedNames": names, "storedVersions": []any{}}
}

func (s *Server) create(r Request) (any, error) {
	obj, err := r.object()
	if err != nil {
		return nil, err
	}
	if named := obj.GetNamespace(); named != "" && named != r.Namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if obj.GetName() == "" && obj.GetGenerateName() == "" {
		return nil, apierrors.NewInvalid(r.resource.gvk("").GroupKind(), "", nil)
	}
	obj.SetNamespace(r.Namespace)
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := s.hasNamespace(r); err != nil {
		return nil, err
	}
	created, err := s.add(r.write(), obj)
	if err != nil {
		return nil, err
	}
	return r.view(created), nil
}

func (s *Server) hasNamespace(r Request) error {
	if !r.resource.clusterwide && s.objects[schema.GroupResource{Resource: "namespaces"}]["/"+r.Namespace] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, r.Namespace)
	}
	return nil
}

func (r Request) write() write {
	return write{resource: r.resource, version: r.version, subresource: r.Subresource, manager: r.manager(), dryRun: r.dryRun(),
		strict: r.Query.Get("fieldValidation") == metav1.FieldValidationStrict, request: r}
}

// view returns an object in the API version of the request, or only its metadata if requested.
func (r Request) view(obj *unstructured.Unstructured) *unstructured.Unstructured {
	seen := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	seen.Object["apiVersion"] = r.resource.gvk(r.Version).GroupVersion().String()
	if strings.Contains(r.accept, "as=PartialObjectMetadata") {
		seen.Object = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj.Object["metadata"]}
	}
	return seen
}
