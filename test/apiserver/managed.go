package apiserver

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// model is what the field managers of a type in a version know of it.
type model struct {
	managers map[string]*managedfields.FieldManager
	types    managedfields.TypeConverter
}

// fieldManager is that of a type and a subresource.
func (w write) fieldManager() (*managedfields.FieldManager, error) {
	return w.version.fieldManager(w.resource.gvk(w.version.name), w.subresource, w.resource.custom)
}

func (v *version) fieldManager(gvk schema.GroupVersionKind, subresource string, custom bool) (*managedfields.FieldManager, error) {
	if v.model == nil {
		types := managedfields.NewDeducedTypeConverter()
		if v.schema != nil || scheme.Scheme.Recognizes(gvk) {
			all := schemas{}
			all.addKind(gvk, v.schema)
			var err error
			if types, err = managedfields.NewTypeConverter(all, false); err != nil {
				return nil, err
			}
		}
		v.model = &model{managers: map[string]*managedfields.FieldManager{}, types: types}
	}
	if known := v.model.managers[subresource]; known != nil {
		return known, nil
	}
	reset := fieldpath.NewSet()
	switch {
	case subresource == "status":
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
	case v.status:
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(reset)}
	newManager := managedfields.NewDefaultFieldManager
	if custom {
		newManager = managedfields.NewDefaultCRDFieldManager
	}
	m, err := newManager(v.model.types, conversion{}, conversion{}, conversion{}, gvk, gvk.GroupVersion(), subresource, filters)
	if err == nil {
		v.model.managers[subresource] = m
	}
	return m, err
}

// conversion makes an object one of another version by its apiVersion alone.
type conversion struct{}

func (conversion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	obj, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("cannot convert a %T", in)
	}
	gvk, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{obj.GroupVersionKind()})
	if gv, is := to.(schema.GroupVersion); is {
		gvk, ok = gv.WithKind(obj.GetKind()), true
	}
	if !ok || gvk.GroupVersion() == obj.GroupVersionKind().GroupVersion() {
		return in, nil
	}
	obj = obj.DeepCopy()
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

func (conversion) Convert(any, any, any) error { return fmt.Errorf("cannot convert into an object") }

func (conversion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (conversion) Default(runtime.Object) {}

func (conversion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// manage notes who wrote which fields of an object.
func (s *Server) manage(w write, before, after *unstructured.Unstructured) error {
	if w.managed {
		return nil
	}
	if before == nil {
		before = &unstructured.Unstructured{Object: map[string]any{"apiVersion": after.GetAPIVersion(), "kind": after.GetKind()}}
	}
	if w.trusted && w.subresource == "" && w.version.status && before.GetUID() != "" {
		// A test may write both parts at once: the status has an entry of its own.
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
	obj, ok := m.UpdateNoErrors(before, after.DeepCopy(), w.manager).(*unstructured.Unstructured)
	if ok {
		after.SetManagedFields(obj.GetManagedFields())
	}
	return nil
}

// applied is what an object is after a server-side apply.
func (s *Server) applied(q Request, w *write, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if q.Query.Get("fieldManager") == "" {
		return nil, apierrors.NewBadRequest("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch")
	}
	q.ContentType = strings.TrimPrefix(q.ContentType, "application/apply-patch+")
	patch, err := decode(q.ContentType, q.Body)
	if err != nil {
		return nil, err
	}
	if err := q.sameObject(before, named(patch, before)); err != nil {
		return nil, err
	}
	m, err := w.fieldManager()
	if err != nil {
		return nil, err
	}
	after, err := m.Apply(before.DeepCopy(), patch, w.manager, q.Query.Get("force") == "true")
	if err != nil {
		if status := apierrors.APIStatus(nil); !asStatus(err, &status) {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return nil, err
	}
	w.managed = true
	obj, ok := after.(*unstructured.Unstructured)
	if !ok {
		return before.DeepCopy(), nil // nothing has changed
	}
	return obj, nil
}

// named is an object under the name of another where it has none.
func named(obj, like *unstructured.Unstructured) *unstructured.Unstructured {
	if obj.GetName() == "" {
		obj.SetName(like.GetName())
	}
	return obj
}

// applyNew creates the object that is applied.
func (s *Server) applyNew(q Request) (any, error) {
	if err := s.hasNamespace(q); err != nil {
		return nil, err
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(q.resource.gvk(q.Version))
	empty.SetName(q.Name)
	empty.SetNamespace(q.Namespace)
	w := q.write()
	patch, err := decode("", q.Body)
	if err != nil {
		return nil, err
	}
	if patch.GetUID() != "" {
		return nil, apierrors.NewConflict(q.resource.gr(), q.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", patch.GetUID()))
	}
	obj, err := s.applied(q, &w, empty)
	if err != nil {
		return nil, err
	}
	created, err := s.add(w, obj)
	if err != nil {
		return nil, err
	}
	return q.view(created), nil
}
