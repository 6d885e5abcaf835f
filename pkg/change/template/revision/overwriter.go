package revision

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Overwriters says who will bring back what is in some fields of an object when somebody
// else changes them, in a sentence for each: its controller owner, a tool that keeps
// objects as they are in a repository or a chart, and whoever applies the fields.
func Overwriters(obj *unstructured.Unstructured, paths []fieldpath.Path) []string {
	var all []string
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		all = append(all, fmt.Sprintf("%s/%s owns it and may undo the change", ref.Kind, ref.Name))
	}
	tools := trackedBy(obj)
	for _, entry := range obj.GetManagedFields() {
		manages := slices.ContainsFunc(paths, func(p fieldpath.Path) bool { return p.ManagedBy(entry, obj.Object) })
		if entry.Subresource != "" || entry.Manager == kinds.FieldManager || !manages {
			continue
		}
		if tool := toolOf(entry.Manager); tool != "" {
			tools = append(tools, tool)
		} else if entry.Operation == metav1.ManagedFieldsOperationApply {
			tools = append(tools, fmt.Sprintf("the field manager %q (server-side apply)", entry.Manager))
		}
	}
	slices.Sort(tools)
	for _, tool := range slices.Compact(tools) {
		all = append(all, fmt.Sprintf("%s manages %s, and its next run restores the old value", tool, pathsText(paths)))
	}
	return all
}

// The tools that keep objects as somebody has declared them.
const (
	argoCD = "Argo CD"
	flux   = "Flux"
	helm   = "Helm"
)

// toolOf is the tool that a field manager belongs to, "" if it is none of these.
func toolOf(manager string) string {
	switch {
	case strings.HasPrefix(manager, "argocd"):
		return argoCD
	case manager == "kustomize-controller" || manager == "helm-controller":
		return flux
	case manager == "helm" || strings.HasPrefix(manager, "Helm"):
		return helm
	}
	return ""
}

// trackedBy are the tools that mark an object as theirs.
func trackedBy(obj *unstructured.Unstructured) []string {
	var tools []string
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	for _, words := range []map[string]string{labels, annotations} {
		for name := range words {
			prefix, key, _ := strings.Cut(name, "/")
			switch {
			case prefix == "argocd.argoproj.io" && (key == "tracking-id" || key == "instance"):
				tools = append(tools, argoCD)
			case strings.HasSuffix(prefix, ".toolkit.fluxcd.io") && key == "name":
				tools = append(tools, flux)
			}
		}
	}
	if labels["app.kubernetes.io/managed-by"] == "Helm" && !slices.Contains(tools, flux) {
		tools = append(tools, helm)
	}
	return tools
}

func pathsText(paths []fieldpath.Path) string {
	var words []string
	for _, p := range paths {
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}
