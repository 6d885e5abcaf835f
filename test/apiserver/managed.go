package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldManager returns the field manager for the type and the subresource of a write.
func (w write) fieldManager() (*managedfields.FieldManager, error) {
	v, gvk := w.version, w.resource.gvk(w.version.name)
	if known := v.managers[w.subresource]; known != nil {
		return known, nil
	}
	types := managedfields.NewDeducedTypeConverter()
	newManager := managedfields.NewDefaultFieldManager
	switch {
	case v.schema != nil:
		var err error
		if types, err = managedfields.NewTypeConverter(map[string]*spec.Schema{gvk.String(): v.schema}, false); err != nil {
			return nil, err
		}
		newManager = managedfields.NewDefaultCRDFieldManager
	case scheme.Scheme.Recognizes(gvk) && gvk != scaleKind(): // client-go has no apply schema for Scale
		types = applyconfigurations.NewTypeConverter(scheme.Scheme)
	}
	reset := fieldpath.NewSet()
	switch {
	case w.subresource == "status":
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
	case v.status:
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(reset)}
	m, err := newManager(types, conversion{}, unstructuredscheme.NewUnstructuredDefaulter(), unstructuredscheme.NewUnstructuredCreator(), gvk, gvk.GroupVersion(), w.subresource, filters)
	if err == nil {
		v.managers[w.subresource] = m
	}
	return m, err
}

// conversion converts an object to another version by setting only its apiVersion.
type conversion struct{ runtime.ObjectConvertor }

func (conversion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if gv, is := to.(schema.GroupVersion); is {
		gvk, ok = gv.WithKind(in.GetObjectKind().GroupVersionKind().Kind), true
	}
	if !ok || gvk == in.GetObjectKind().GroupVersionKind() {
		return in, nil
	}
	in = in.DeepCopyObject()
	in.GetObjectKind().SetGroupVersionKind(gvk)
	return in, nil
}

// ManageOnly makes the server keep managed fields only for objects of the given resources. A write of any
// other object then takes half the time.
func (s *Server) ManageOnly(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed = resources
}

// manage updates the managed fields of an object after a write.
func (s *Server) manage(w write, before, after *unstructured.Unstructured) error {
	if w.managed || s.managed != nil && !slices.Contains(s.managed, w.resource.plural) {
		return nil
	}
	if before == nil {
		before = &unstructured.Unstructured{Object: map[string]any{"apiVersion": after.GetAPIVersion(), "kind": after.GetKind()}}
	}
	if w.trusted && w.subresource == "" && w.version.status && before.GetUID() != "" {
		// An Actor can write the spec and the status together. Record the status in a separate entry.
		partly := after.DeepCopy()
		keep(partly.Object, before.Object, "status")
		w.trusted = false
		if err := s.manage(w, before, partly); err != nil {
			return err
		}
		after.SetManagedFields(partly.GetManagedFields())
		w.subresource, before = "status", partly
	}
	m, err := w.fieldManager()
	if err != nil {
		return err
	}
	updated, err := m.Update(before, after.DeepCopy(), w.manager)
	if err != nil {
		// UpdateNoErrors would also log the error, and the logger may belong to another synctest bubble.
		after.SetManagedFields(nil)
		return nil //nolint:nilerr // a server stores such an object, too
	}
	if obj, ok := updated.(*unstructured.Unstructured); ok {
		after.SetManagedFields(obj.GetManagedFields())
	}
	return nil
}

// applied returns an object after a server-side apply, and sets w.managed.
func (s *Server) applied(r Request, w *write, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if r.Query.Get("fieldManager") == "" {
		return nil, apierrors.NewBadRequest("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch")
	}
	r.ContentType = strings.TrimPrefix(r.ContentType, "application/apply-patch+")
	patch, err := decode(r.ContentType, r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.sameObject(before, named(patch, before)); err != nil {
		return nil, err
	}
	m, err := w.fieldManager()
	if err != nil {
		return nil, err
	}
	after, err := m.Apply(before.DeepCopy(), patch, w.manager, r.Query.Get("force") == "true")
	if err != nil {
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return nil, err
	}
	w.managed = true
	obj, ok := after.(*unstructured.Unstructured)
	if !ok {
		return before.DeepCopy(), nil // no change
	}
	return obj, nil
}

func named(obj, like *unstructured.Unstructured) *unstructured.Unstructured {
	if obj.GetName() == "" {
		obj.SetName(like.GetName())
	}
	return obj
}

// applyNew creates an object by server-side apply.
func (s *Server) applyNew(r Request) (any, error) {
	if err := s.hasNamespace(r); err != nil {
		return nil, err
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(r.resource.gvk(r.Version))
	empty.SetName(r.Name)
	empty.SetNamespace(r.Namespace)
	w := r.write()
	patch, err := decode("", r.Body)
	if err != nil {
		return nil, err
	}
	if patch.GetUID() != "" {
		return nil, apierrors.NewConflict(r.resource.gr(), r.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", patch.GetUID()))
	}
	obj, err := s.applied(r, &w, empty)
	if err != nil {
		return nil, err
	}
	created, err := s.add(w, obj)
	if err != nil {
		return nil, err
	}
	return r.view(created), nil
}
