package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

const availableCondition = "Available"

// objectProblems returns the problems of the object and of its children.
func objectProblems(s Snapshot, events map[types.UID][]problem.Event) []problem.Problem {
	o := s.Object
	var all []problem.Problem
	if own := slices.DeleteFunc(slices.Clone(o.Finalizers), byGarbageCollector); !o.Deleted.IsZero() && len(own) > 0 {
		p := problem.Problem{Since: metav1.NewTime(o.Deleted), Events: events[o.UID]}
		p.Held(o.Type, o.Namespace, o.Name, own, s.Now, s.Commands)
		all = append(all, p)
	}
	short := o.NoCount || o.indirect() || o.Current < o.Desired
	all = append(all, problem.Reported(o.Newest(), "", o.Namespace, events[o.UID], short, s.Commands)...)
	if o.UserPause.Invalid != "" {
		all = append(all, problem.Problem{Code: problem.CodeInvalidPause, Message: "it is not paused: " + o.UserPause.Invalid, Hint: s.Commands.Line(howToResume(o))})
	}
	fatal := slices.ContainsFunc(all, func(p problem.Problem) bool { return p.Fatal })
	if why := s.reportedFailure(); why != "" && (o.Word.Failed || !fatal) {
		all = append(all, problem.Problem{Code: problem.CodeReportedFailure, Message: why, Fatal: true, Events: events[o.UID]})
	}
	for _, c := range s.Children {
		short := c.Desired == nil || ptr.Deref(c.Current, 0) < *c.Desired
		all = append(all, problem.Reported(c.Conditions, c.Kind+"/"+c.Name, o.Namespace, events[c.UID], short, s.Commands)...)
	}
	return all
}

// reportedFailure returns the failure that the controller reports, or "". If enough pods are ready, only failed-when
// expressions count. If an object has no count and no pods, a broken state and a failed part are failures, too.
func (s Snapshot) reportedFailure() string {
	o := s.Object
	contradicted := !o.NoCount && o.Desired > 0 && shortfall(o, "") == nil
	switch {
	case o.Word.Failed:
		return "its controller reports: " + o.Word.String()
	case o.claim.Meaning == words.Failed && !o.claim.Part && !contradicted, o.claim.Meaning >= words.Broken && o.unmeasured() && len(s.Pods) == 0:
		return o.claim.String()
	}
	return ""
}

func byGarbageCollector(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

// interpreted returns the object with its claim and its objection. It ignores Progressing if the object has a count,
// and Available if the count is zero. An object that is ready or complete as a whole is settled: interpreted ignores
// its unmet parts, because the object might no longer use them.
func (o Object) interpreted() Object {
	var all []words.Claim
	conditions := o.Newest()
	waits := slices.ContainsFunc(conditions, words.Waits)
	settled := meta.IsStatusConditionTrue(conditions, apis.ConditionReady) ||
		slices.ContainsFunc(o.Claims, func(c words.Claim) bool { return !c.Part && c.Meaning == words.Done })
	repairs := map[string]bool{} // true for the reason of a true condition that means Working
	for _, c := range conditions {
		settled = settled || words.Condition(metav1.Condition{Type: c.Type, Status: c.Status}) == words.Done
		repairs[c.Reason] = repairs[c.Reason] || c.Status == metav1.ConditionTrue && words.Condition(c) == words.Working
	}
	for _, c := range conditions {
		said := words.Claim{Text: problem.ConditionSays(c), Meaning: words.Condition(c)}
		unmet := c.Status != metav1.ConditionTrue
		part := unmet && !words.Overall(c.Type)
		switch {
		case !o.NoCount && (c.Type == availableCondition && o.Desired == 0 || c.Type == apis.ConditionProgressing), part && settled:
			continue
		case unmet && (c.Reason != "" && repairs[c.Reason] || waits), part && o.Pause != nil:
			said.Meaning = min(said.Meaning, words.Working) // being repaired, not yet scheduled, or paused
		}
		if said.Meaning >= words.Working {
			o.objection = cmp.Or(o.objection, said.Text)
		}
		all = append(all, said)
	}
	for _, c := range o.Claims {
		if !settled || c.Text != "false" || words.Overall(c.Path) {
			all = append(all, c)
		}
	}
	o.claim = words.Sum(all)
	return o
}

func (o Object) unmeasured() bool { return o.NoCount && o.Current == 0 && o.Word.Ready == nil }
