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

// Overwriters returns a sentence about each program that may revert a change to the fields: the
// controller that owns the object, a GitOps tool, and other managers that apply the fields.
func Overwriters(obj *unstructured.Unstructured, fields []Field) []string {
	var all []string
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		all = append(all, fmt.Sprintf("%s/%s owns it and may undo the change", ref.Kind, ref.Name))
	}
	var paths []fieldpath.Path
	var names []string
	for _, f := range fields {
		paths = append(paths, f.Path)
		names = append(names, f.Path.String())
	}
	var tools []string
	gitOps := fieldpath.GitOpsOf(obj, paths...)
	if gitOps != nil {
		tools = append(tools, gitOps.Tool)
	}
	for _, entry := range obj.GetManagedFields() {
		manages := slices.ContainsFunc(paths, func(p fieldpath.Path) bool { return p.ManagedBy(entry, obj.Object) })
		applies := entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager != kinds.FieldManager
		if manages && applies && (gitOps == nil || !gitOps.Manages(entry.Manager)) {
			tools = append(tools, fmt.Sprintf("the field manager %q (server-side apply)", entry.Manager))
		}
	}
	slices.Sort(tools)
	for _, tool := range slices.Compact(tools) {
		all = append(all, fmt.Sprintf("%s manages %s, and its next run restores the old value", tool, strings.Join(names, ", ")))
	}
	return all
}
