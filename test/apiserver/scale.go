package apiserver

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func scaleKind() schema.GroupVersionKind { return autoscalingv1.SchemeGroupVersion.WithKind("Scale") }

func scaleOf(paths *scalePaths, obj *unstructured.Unstructured) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedInt64(obj.Object, paths.specReplicas...)
	current, _, _ := unstructured.NestedInt64(obj.Object, paths.statusReplicas...)
	status := map[string]any{"replicas": current}
	if text, _, _ := unstructured.NestedString(obj.Object, paths.selector...); len(paths.selector) > 0 && text != "" {
		status["selector"] = text
	} else if of, found, _ := unstructured.NestedMap(obj.Object, "spec", "selector"); found && paths.selector == nil {
		var selector metav1.LabelSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(of, &selector) == nil {
			status["selector"] = metav1.FormatLabelSelector(&selector)
		}
	}
	scale := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": spec}, "status": status}}
	scale.SetGroupVersionKind(scaleKind())
	scale.SetName(obj.GetName())
	scale.SetNamespace(obj.GetNamespace())
	scale.SetUID(obj.GetUID())
	scale.SetResourceVersion(obj.GetResourceVersion())
	scale.SetCreationTimestamp(obj.GetCreationTimestamp())
	return scale
}

// doScale responds to a request for the /scale of obj. obj is nil if it does not exist.
func (s *Server) doScale(r Request, obj *unstructured.Unstructured) (any, error) {
	if obj == nil {
		return nil, apierrors.NewNotFound(r.resource.gr(), r.Name)
	}
	paths := r.version.scale
	before := scaleOf(paths, obj)
	if r.Verb == "get" {
		// Like a real server, reject a read of the Scale of a custom resource without a replica
		// count. A write to /scale can still set the count.
		if _, found, _ := unstructured.NestedInt64(obj.Object, paths.specReplicas...); !found {
			return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", "."+strings.Join(paths.specReplicas, ".")))
		}
		return before, nil
	}
	gv := obj.GroupVersionKind().GroupVersion().String()
	handler := managedfields.NewScaleHandler(obj.GetManagedFields(), obj.GroupVersionKind().GroupVersion(), managedfields.ResourcePathMappings{gv: smdPath(paths.specReplicas)})
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	before.SetManagedFields(entries)
	scales := &resource{group: scaleKind().Group, kind: "Scale", plural: r.resource.plural, versions: []*version{{name: "v1", managers: map[string]*managedfields.FieldManager{}}}}
	w := write{resource: scales, version: scales.versions[0], subresource: r.Subresource, manager: r.manager()}
	after, err := s.modified(r, &w, before)
	if err != nil {
		return nil, err
	}
	if err := r.sameObject(obj, after); err != nil {
		return nil, err
	}
	replicas, found, err := unstructured.NestedInt64(after.Object, "spec", "replicas")
	if err != nil || found && replicas < 0 {
		return nil, apierrors.NewBadRequest("spec.replicas: Invalid value: must be greater than or equal to 0")
	}
	if err := s.manage(w, before, after); err != nil {
		return nil, err
	}
	scaled := obj.DeepCopy()
	if err := unstructured.SetNestedField(scaled.Object, replicas, paths.specReplicas...); err != nil {
		return nil, err
	}
	if entries, err = handler.ToParent(after.GetManagedFields()); err != nil {
		return nil, err
	}
	scaled.SetManagedFields(slices.Clone(entries))
	parent := r.write()
	parent.subresource, parent.managed = "", true
	if scaled, err = s.replace(parent, obj, scaled); err != nil {
		return nil, err
	}
	return scaleOf(paths, scaled), nil
}

func smdPath(fields []string) fieldpath.Path {
	parts := make([]any, len(fields))
	for i, name := range fields {
		parts[i] = name
	}
	return fieldpath.MakePathOrDie(parts...)
}
