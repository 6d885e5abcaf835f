package status

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/problem"
)

// hintImages adds to problems with an image the commands that give the pods another one,
// for an object in whose pod template the image is.
func hintImages(o Object, problems []problem.Problem) {
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || !slices.Contains([]problem.Code{problem.CodeImagePullFailed, problem.CodeInvalidImageName}, p.Code) {
			continue
		}
		name, namespace := ShortType(o.Type)+"/"+o.Name, problem.InNamespace(o.Namespace)
		problems[i].Hint += fmt.Sprintf("; to set another image: kubectl imoocpod set image %s %s=IMAGE%s", name, p.Container, namespace)
		if o.Generation > 1 { // an object that nobody changed has no other revision
			problems[i].Hint += fmt.Sprintf("; to return to the last one: kubectl imoocpod undo %s%s", name, namespace)
		}
	}
}
