package fieldpath

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// GitOps is a tool that keeps objects in the state declared in a repository or a chart.
type GitOps struct {
	Tool string
	// Kind is the kind of the tool's own objects. Place is what users edit to change a managed object: the "source"
	// or the "values" of the tool's object. Kind and Place are empty for Helm, which acts only when a user runs it.
	Kind, Place string
	// Object names the tool's own object, with its namespace if known. For Helm, it is "Helm". If unknown, it is "".
	Object string

	// managers lists patterns for the names of the tool's field managers.
	managers []string
	// object returns Object from the labels or annotations of obj, or "". recorded means that the tool manages a field.
	object func(obj *unstructured.Unstructured, recorded bool) string
}

func gitOpsTools() []GitOps {
	return []GitOps{
		{Tool: "Argo CD", Kind: "Application", Place: "source", managers: []string{"argocd*"}, object: argoApplication},
		{Tool: "Flux", Kind: "Kustomization", Place: "source", managers: []string{"kustomize-controller"}, object: fluxObject("kustomize")},
		{Tool: "Flux", Kind: "HelmRelease", Place: "values", managers: []string{"helm-controller"}, object: fluxObject("helm")},
		{Tool: "Helm", managers: []string{"helm", "Helm*"}, object: helmRelease},
	}
}

// GitOpsOf returns the first tool that sets one of the fields of an object, or nil. A tool sets a field if it manages
// the field, or if its labels or annotations are on the object and the last client-side apply set the field. A tool
// whose manifests omit the field, for example because an autoscaler sets it, does not count.
func GitOpsOf(obj *unstructured.Unstructured, fields ...Path) *GitOps {
	for _, g := range gitOpsTools() {
		recorded, sets := false, false
		for _, entry := range obj.GetManagedFields() {
			if g.Manages(entry.Manager) {
				recorded = true
				sets = sets || slices.ContainsFunc(fields, func(p Path) bool { return p.ManagedBy(entry, obj.Object) })
			}
		}
		g.Object = g.object(obj, recorded)
		if sets || g.Object != "" && lastApplied(obj, fields) {
			return &g
		}
	}
	return nil
}

// Manages reports whether a field manager belongs to the tool.
func (g GitOps) Manages(manager string) bool {
	return slices.ContainsFunc(g.managers, func(pattern string) bool {
		matched, _ := path.Match(pattern, manager) // the patterns are valid
		return matched
	})
}

func argoApplication(obj *unstructured.Unstructured, recorded bool) string {
	// For example, shop:apps/Deployment:default/web.
	if app, _, found := strings.Cut(obj.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":"); found {
		return app
	}
	if !recorded {
		return "" // other tools also set this label
	}
	return obj.GetLabels()["app.kubernetes.io/instance"]
}

func fluxObject(controller string) func(*unstructured.Unstructured, bool) string {
	return func(obj *unstructured.Unstructured, _ bool) string {
		labels, group := obj.GetLabels(), controller+".toolkit.fluxcd.io"
		return strings.TrimPrefix(labels[group+"/namespace"]+"/"+labels[group+"/name"], "/")
	}
}

func helmRelease(obj *unstructured.Unstructured, _ bool) string {
	if obj.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
		return ""
	}
	return "Helm"
}

// lastApplied reports whether the last client-side apply of an object set any of the fields.
func lastApplied(obj *unstructured.Unstructured, fields []Path) bool {
	var applied map[string]any
	if json.Unmarshal([]byte(obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), &applied) != nil {
		return false
	}
	return slices.ContainsFunc(fields, func(p Path) bool {
		value, err := p.Value(applied)
		return err == nil && value != nil
	})
}
