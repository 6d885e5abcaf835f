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
		name := ShortType(o.Type) + "/" + o.Name
		problems[i].Hint += fmt.Sprintf("; to set another image: kubectl imoocpod set image %s %s=IMAGE%[3]s; to return to the last one: kubectl imoocpod undo %[1]s%[3]s",
			name, p.Container, problem.InNamespace(o.Namespace))
	}
}
