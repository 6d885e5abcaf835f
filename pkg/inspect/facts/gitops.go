package facts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// gitOps is a tool that sets fields of objects from a source such as a repository.
type gitOps struct {
	// tool is its name, and kind that of its objects, whose place says where to change a
	// field.
	tool, kind, place string
	// managers are the names under which it is recorded in managedFields.
	managers []string
	// label is on what it applies: the name of its object, and its namespace.
	label string
}

func gitOpsTools() []gitOps {
	return []gitOps{
		{"Argo CD", "Application", "source", []string{"argocd-controller", "argocd-application-controller"}, ""},
		{"Flux", "Kustomization", "source", []string{"kustomize-controller"}, "kustomize.toolkit.fluxcd.io"},
		{"Flux", "HelmRelease", "values", []string{"helm-controller"}, "helm.toolkit.fluxcd.io"},
	}
}

// gitOpsWriter is the tool that sets the count of an object: nil where none does. A tool
// that applies the object and leaves out the count, as it should where an autoscaler
// sets it, is not meant.
func gitOpsWriter(obj *unstructured.Unstructured, count string) *status.CompetingWriter {
	path, err := fieldpath.ParseSteps(count)
	if count == "" || err != nil {
		return nil
	}
	for _, g := range gitOpsTools() {
		present, sets := false, false
		for _, entry := range obj.GetManagedFields() {
			mine := slices.Contains(g.managers, entry.Manager)
			present = present || mine
			sets = sets || mine && path.ManagedBy(entry, obj.Object)
		}
		name := g.name(obj, present)
		if !sets && (name == "" || !lastApplied(obj, path)) {
			continue
		}
		if name == "" {
			return &status.CompetingWriter{By: g.tool, Message: fmt.Sprintf("%s sets its replica count; change it in the %s of the %s", g.tool, g.place, g.kind)}
		}
		by := g.kind + "/" + name[strings.LastIndex(name, "/")+1:]
		return &status.CompetingWriter{By: by, Message: fmt.Sprintf("%s sets its replica count; change it in the %s of the %s %s", g.tool, g.place, g.kind, name)}
	}
	return nil
}

// name is the object of the tool that applies an object, with its namespace where that is
// told: "" where none does. present says that the tool is recorded as a manager.
func (g gitOps) name(obj *unstructured.Unstructured, present bool) string {
	labels := obj.GetLabels()
	if g.label != "" {
		return strings.TrimPrefix(labels[g.label+"/namespace"]+"/"+labels[g.label+"/name"], "/")
	}
	// Such as shop:apps/Deployment:default/web.
	if app, _, found := strings.Cut(obj.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":"); found {
		return app
	}
	if present {
		return labels["app.kubernetes.io/instance"] // which others set, too
	}
	return ""
}

// lastApplied reports whether the last client-side apply of an object has set the count.
func lastApplied(obj *unstructured.Unstructured, path fieldpath.Path) bool {
	var applied map[string]any
	if json.Unmarshal([]byte(obj.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]), &applied) != nil {
		return false
	}
	_, found, err := path.Get(applied)
	return err == nil && found
}
