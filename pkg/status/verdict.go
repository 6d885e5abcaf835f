// Package status says how a replica resource is doing: objects and a time go
// in, a verdict and the model that everything prints come out. It imports no
// client, no clock and no context.
package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Verdict is how an object is doing, in a word.
type Verdict string

// The verdicts.
const (
	// Ready: the controller has seen this generation, as many are ready as are
	// wanted, none is surplus and no failure is reported.
	Ready Verdict = "ready"
	// Progressing: on its way there.
	Progressing Verdict = "progressing"
	// Failed: will not get there without help.
	Failed Verdict = "failed"
	// NotReconciled: no controller has seen the object as it is now.
	NotReconciled Verdict = "not reconciled"
	// Deleted: there is no such object any more. Only who watched it go sees that.
	Deleted Verdict = "deleted"
)

// Judge gives the verdict on an object, its reason in one line, and a hint
// when there is something to do.
func Judge(o Object) (v Verdict, reason, hint string) {
	switch failure := meta.FindStatusCondition(o.Conditions, apis.ConditionReplicaFailure); {
	case o.Deleting:
		return Progressing, "it is being deleted", ""
	case !o.Untracked && o.ObservedGeneration == 0:
		return NotReconciled, "no controller has seen it yet", howToReconcile(o)
	case !o.Untracked && o.ObservedGeneration < o.Generation:
		return NotReconciled, fmt.Sprintf("generation %d, controller saw %d", o.Generation, o.ObservedGeneration), howToReconcile(o)
	case failure != nil && failure.Status == metav1.ConditionTrue:
		return Failed, failure.Reason + ": " + failure.Message, ""
	case o.NoCount && o.Current == 0:
		return NotReconciled, "it has no pods, and nothing says how many are wanted", ""
	case o.Ready == o.Desired && o.Current == o.Desired:
		return Ready, readyCount(o), ""
	case o.Current > o.Desired:
		return Progressing, fmt.Sprintf("%d pods are there, %d too many", o.Current, o.Current-o.Desired), ""
	case o.Current < o.Desired:
		return Progressing, fmt.Sprintf("%s, %d not yet made", readyCount(o), o.Desired-o.Current), ""
	}
	return Progressing, readyCount(o), ""
}

// howToReconcile is the hint for an object that waits for its controller.
func howToReconcile(o Object) string {
	if o.Foreign {
		return ""
	}
	return "kubectl imoocpod run-controller -n " + o.Namespace
}

func readyCount(o Object) string {
	return fmt.Sprintf("%d of %d pods are ready", o.Ready, o.Desired)
}
