package status

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/problem"
)

// hintImages adds to problems with an image the commands that give the pods another one,
// for an object in whose pod template the image is.
func hintImages(o Object, children []Child, problems []problem.Problem) {
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || !slices.Contains([]problem.Code{problem.CodeImagePullFailed, problem.CodeInvalidImageName}, p.Code) {
			continue
		}
		name, namespace := ShortType(o.Type)+"/"+o.Name, problem.InNamespace(o.Namespace)
		problems[i].Hint += fmt.Sprintf("; to set another image: kubectl imoocpod set image %s %s=IMAGE%s", name, p.Container, namespace)
		if mayHaveEarlier(o, children) {
			problems[i].Hint += fmt.Sprintf("; to return to the last one: kubectl imoocpod undo %s%s", name, namespace)
		}
	}
}

// mayHaveEarlier reports whether an object may have an earlier revision of its pod template.
// One that nobody changed has none, nor has one that makes a ReplicaSet for each template
// and has only one of them.
func mayHaveEarlier(o Object, children []Child) bool {
	replicaSets := 0
	for _, c := range children {
		if c.Kind == "ReplicaSet" && c.Controller == o.UID {
			replicaSets++
		}
	}
	return o.Generation > 1 && replicaSets != 1
}
