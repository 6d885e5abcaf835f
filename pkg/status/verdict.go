// Package status says how a replica resource is doing: objects and a time go
// in, a verdict and the model that everything prints come out. It imports no
// client, no clock and no context.
package status

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// ruling is a verdict with its reason, as a word and in one line, and a hint
// when there is something to do.
type ruling struct {
	verdict Verdict
	code    Code
	reason  string
	hint    string
}

// judge gives the verdict on an object and its problems, the gravest first.
func judge(o Object, problems []Problem) ruling {
	if !o.Deleted.IsZero() {
		return judgeDeleting(problems)
	}
	if r, unseen := judgeUnseen(o); unseen {
		return r
	}
	counts := readyCount(o)
	settled := o.Ready == o.Desired && o.Current == o.Desired && (o.Updated == nil || *o.Updated >= o.Desired)
	// What ails a pod does not matter where enough others are ready; what the
	// object itself reports does.
	if len(problems) > 0 && problems[0].Fatal && (!settled || len(problems[0].Pods) == 0) {
		return ruling{Failed, problems[0].Code, problems[0].String(), problems[0].Hint}
	}
	r := ruling{verdict: Progressing, code: CodePodsStarting, reason: counts}
	switch {
	case o.NoCount && o.Current == 0:
		return ruling{verdict: NotReconciled, code: CodeNoPods, reason: "it has no pods, and nothing says how many are wanted"}
	case settled:
		if c := meta.FindStatusCondition(o.Conditions, readyCondition); c != nil && c.Status != metav1.ConditionTrue {
			return ruling{verdict: Progressing, code: CodeConditionFalse, reason: fmt.Sprintf("%s, but its condition Ready is %s: %s", counts, c.Status, conditionWords(*c))}
		}
		return ruling{verdict: Ready, code: CodeReady, reason: counts}
	case o.Current > o.Desired:
		r.code, r.reason = CodePodsSurplus, fmt.Sprintf("%d pods are there, %d too many", o.Current, o.Current-o.Desired)
	case o.Current < o.Desired:
		r.code, r.reason = CodePodsMissing, fmt.Sprintf("%s, %d not yet made", counts, o.Desired-o.Current)
	case o.Updated != nil && *o.Updated < o.Desired:
		r.code, r.reason = CodePodsOutdated, fmt.Sprintf("%s, %d not yet replaced", counts, o.Desired-*o.Updated)
	}
	if len(problems) > 0 {
		r.code, r.hint = problems[0].Code, problems[0].Hint
		r.reason += "; " + problems[0].String()
	}
	return r
}

// judgeDeleting is judge for an object that is being deleted.
func judgeDeleting(problems []Problem) ruling {
	const deleting = "it is being deleted"
	held := slices.IndexFunc(problems, func(p Problem) bool { return p.Code == CodeFinalizer || p.Code == CodeTerminating })
	if held < 0 {
		return ruling{verdict: Progressing, code: CodeDeleting, reason: deleting}
	}
	p := problems[held]
	r := ruling{Progressing, p.Code, deleting + "; " + p.String(), p.Hint}
	if p.Fatal {
		r.verdict = Failed
	}
	return r
}

// judgeUnseen says whether no controller has seen the object as it is now.
func judgeUnseen(o Object) (ruling, bool) {
	switch {
	case !o.Untracked && o.ObservedGeneration == 0,
		o.Untracked && o.Conditioned && len(o.Conditions) == 0:
		return ruling{NotReconciled, CodeNeverSeen, "no controller has seen it yet", howToReconcile(o)}, true
	case !o.Untracked && o.ObservedGeneration < o.Generation:
		return ruling{NotReconciled, CodeGenerationNotSeen, fmt.Sprintf("generation %d, controller saw %d", o.Generation, o.ObservedGeneration), howToReconcile(o)}, true
	}
	c := meta.FindStatusCondition(o.Conditions, readyCondition)
	if o.Untracked && c != nil && c.ObservedGeneration > 0 && c.ObservedGeneration < o.Generation {
		return ruling{NotReconciled, CodeGenerationNotSeen, fmt.Sprintf("generation %d, controller saw %d", o.Generation, c.ObservedGeneration), howToReconcile(o)}, true
	}
	return ruling{}, false
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
