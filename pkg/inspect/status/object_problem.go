package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

const (
	readyCondition = apis.ConditionReady
	// availableCondition of a Deployment says that enough pods are ready.
	availableCondition = "Available"
)

// objectFindings are the problems of the object itself, and of what stands
// between it and its pods.
func objectFindings(e Snapshot, children []Child, events happened) []problem.Finding {
	o := e.Object
	var all []problem.Finding
	if own := slices.DeleteFunc(slices.Clone(o.Finalizers), byGarbageCollector); !o.Deleted.IsZero() && len(own) > 0 {
		f := problem.Finding{Since: o.Deleted, Events: events[o.UID]}
		f.Held(o.Type, o.Namespace, o.Name, own, e.Now, e.Commands)
		all = append(all, f)
	}
	all = append(all, problem.Reported(o.newest(), "", o.Namespace, events[o.UID], e.Commands)...)
	if o.UserPause.Invalid != "" {
		all = append(all, problem.Finding{Code: problem.CodeInvalidPause, Message: "it is not paused: " + o.UserPause.Invalid, Hint: e.Commands.Line(howToResume(o))})
	}
	if o.Word.Failed {
		f := problem.Finding{Code: problem.CodeReportedFailure, Message: "its controller reports: " + o.Word.String(), Fatal: true, Events: events[o.UID]}
		all = append(all, f)
	}
	for _, c := range children {
		all = append(all, problem.Reported(c.Conditions, c.Kind+"/"+c.Name, o.Namespace, events[c.UID], e.Commands)...)
	}
	return all
}

func byGarbageCollector(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}
