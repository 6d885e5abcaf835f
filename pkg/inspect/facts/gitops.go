package facts

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
)

// gitOpsWriter returns the GitOps tool (not Helm) that sets the replica field of obj, or nil. count is the path.
func gitOpsWriter(obj *unstructured.Unstructured, count string) *competing.Writer {
	path, err := fieldpath.ParseSteps(count)
	if err != nil {
		return nil
	}
	g := fieldpath.GitOpsOf(obj, path)
	if g == nil || g.Kind == "" {
		return nil
	}
	by := g.Tool
	if g.Object != "" {
		by = g.Kind + "/" + g.Object[strings.LastIndex(g.Object, "/")+1:]
	}
	where := strings.TrimSpace(g.Kind + " " + g.Object)
	return &competing.Writer{By: by, Message: fmt.Sprintf("%s sets its replica count; change it in the %s of the %s", g.Tool, g.Place, where)}
}
