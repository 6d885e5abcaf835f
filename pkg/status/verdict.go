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

// judge gives the verdict on an object. All else of its report is there.
func judge(e Evidence, r Report) ruling {
	o := e.Object
	if !o.Deleted.IsZero() {
		return judgeDeleting(r.Problems)
	}
	if verdict, unseen := judgeUnseen(e, r.Reconciler); unseen {
		return verdict
	}
	verdict := judgeCounts(e, r)
	if r.Reconciler.silent(e) && verdict.verdict == Progressing {
		verdict.verdict, verdict.code = NotReconciled, CodeNoController
		verdict.reason += "; " + r.Reconciler.story(e)
		verdict.hint = r.Reconciler.howToReconcile(e)
	}
	return verdict
}

// judgeCounts is judge for an object that its controller has seen.
func judgeCounts(e Evidence, r Report) ruling {
	o, problems := e.Object, r.Problems
	counts := readyCount(o)
	told := o.Ready == o.Desired && o.Current == o.Desired && (o.Updated == nil || *o.Updated >= o.Desired)
	settled := told && !behind(e, r)
	// What ails a pod does not matter where enough others are ready; what the
	// object itself reports does.
	if len(problems) > 0 && problems[0].Fatal && (!settled || len(problems[0].Pods) == 0) {
		return ruling{Failed, problems[0].Code, problems[0].String(), problems[0].Hint}
	}
	v := ruling{verdict: Progressing, code: CodePodsStarting, reason: counts}
	ready := meta.FindStatusCondition(o.Conditions, readyCondition)
	switch {
	case o.NoCount && o.Current == 0:
		return ruling{verdict: NotReconciled, code: CodeNoPods, reason: "it has no pods, and nothing says how many are wanted"}
	case o.Current > o.Desired:
		v.code, v.reason = CodePodsSurplus, fmt.Sprintf("%d pods are there, %d too many", o.Current, o.Current-o.Desired)
	case o.Current < o.Desired:
		v.code, v.reason = CodePodsMissing, fmt.Sprintf("%s, %d not yet made", counts, o.Desired-o.Current)
	case o.Updated != nil && *o.Updated < o.Desired:
		v.code, v.reason = CodePodsOutdated, fmt.Sprintf("%s, %d not yet replaced", counts, o.Desired-*o.Updated)
	case settled && ready != nil && ready.Status != metav1.ConditionTrue:
		v.code, v.reason = CodeConditionFalse, fmt.Sprintf("%s, but its condition Ready is %s: %s", counts, ready.Status, conditionWords(*ready))
		return v
	case told && !settled:
		v.code, v.reason = CodeStatusBehind, fmt.Sprintf("its status says that %d pods are ready, and %d are", o.Ready, r.readyPods())
	case settled:
		return ruling{verdict: Ready, code: CodeReady, reason: counts}
	}
	if len(problems) > 0 {
		v.code, v.hint = problems[0].Code, problems[0].Hint
		v.reason += "; " + problems[0].String()
	}
	return v
}

// behind says whether pods were counted, and fewer are ready than the status
// says. Of other programs' kinds nobody knows what they count.
func behind(e Evidence, r Report) bool {
	return e.Pods != nil && !e.Object.Foreign && r.readyPods() < int(e.Object.Ready)
}

func (r Report) readyPods() int {
	n := 0
	for _, pod := range r.Pods {
		if pod.Ready {
			n++
		}
	}
	return n
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
func judgeUnseen(e Evidence, by Reconciler) (ruling, bool) {
	o := e.Object
	v := ruling{verdict: NotReconciled, code: CodeGenerationNotSeen, hint: by.howToReconcile(e)}
	ready := meta.FindStatusCondition(o.Conditions, readyCondition)
	switch {
	case !o.Untracked && o.ObservedGeneration == 0,
		o.Untracked && o.Conditioned && len(o.Conditions) == 0:
		v.code, v.reason = CodeNeverSeen, "no controller has seen it yet"
	case !o.Untracked && o.ObservedGeneration < o.Generation:
		v.reason = fmt.Sprintf("generation %d, controller saw %d", o.Generation, o.ObservedGeneration)
	case o.Untracked && ready != nil && ready.ObservedGeneration > 0 && ready.ObservedGeneration < o.Generation:
		v.reason = fmt.Sprintf("generation %d, controller saw %d", o.Generation, ready.ObservedGeneration)
	default:
		return ruling{}, false
	}
	if by.Status != nil {
		v.reason += "; " + by.story(e)
	}
	return v, true
}

func readyCount(o Object) string {
	return fmt.Sprintf("%d of %d pods are ready", o.Ready, o.Desired)
}
