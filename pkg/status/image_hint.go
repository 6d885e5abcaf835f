package status

import (
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/problem"
)

// hintImages adds to problems with an image the commands that give the pods another one,
// for an object in whose pod template the image is.
func hintImages(e Snapshot, children []Child, problems []problem.Problem) {
	o := e.Object
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || !slices.Contains([]problem.Code{problem.CodeImagePullFailed, problem.CodeInvalidImageName}, p.Code) {
			continue
		}
		set := commandline.Plugin("set", "image", o.argument(), p.Container+"=IMAGE").In(o.Namespace)
		problems[i].Hint += "; to set another image: " + e.Commands.Line(set)
		if mayHaveEarlier(o, children) {
			undo := commandline.Plugin("undo", o.argument()).In(o.Namespace)
			problems[i].Hint += "; to return to the last one: " + e.Commands.Line(undo)
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
