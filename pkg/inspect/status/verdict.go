// Package status says how a replica resource is doing: objects and a time go
// in, a verdict and the model that everything prints come out. It imports no
// client, no clock and no context.
package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
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
	// Paused: held on purpose, until somebody lets it go on.
	Paused Verdict = "paused"
	// Failed: will not get there without help.
	Failed Verdict = "failed"
	// NotReconciled: no controller has seen the object as it is now.
	NotReconciled Verdict = "not reconciled"
	// Parked: scaled to zero for a time, with the count to go back to remembered.
	Parked Verdict = "parked"
	// Deleted: there is no such object any more. Only who watched it go sees that.
	Deleted Verdict = "deleted"
)

// Settled reports whether the object has what was asked for, and nothing more is to come.
func (v Verdict) Settled() bool { return v == Ready || v == Parked }

// ruling is a verdict with its reason, as a word and in one line, and a hint
// when there is something to do.
type ruling struct {
	verdict Verdict
	code    problem.Code
	reason  string
	hint    string
	// recheck is after which time it may be another one though nothing changes;
	// zero: that depends on changes alone.
	recheck time.Duration
}

// judge gives the verdict on an object. All else of its report is there.
func judge(e Snapshot, r Report, children []Child) ruling {
	o := e.Object
	if !o.Deleted.IsZero() {
		return judgeDeleting(r.Problems)
	}
	verdict, unseen := judgeUnseen(e, r)
	if !unseen {
		verdict = judgeCounts(e, r, children)
	}
	if o.Pause != nil && (!unseen || !o.Pause.Told) {
		verdict = held(e, verdict)
	}
	if !unseen && r.Reconciler.silent(e) && verdict.verdict == Progressing {
		verdict.verdict, verdict.code = NotReconciled, problem.CodeNoController
		verdict.reason += "; " + r.Reconciler.story(e)
		verdict.hint = r.Reconciler.howToReconcile(e)
	}
	if verdict.verdict == Paused || verdict.code == problem.CodeGenerationNotSeen {
		return verdict // it says the same, or is of before the change
	}
	return parked(e, r, scaledToZero(e, r, o.Word.added(verdict)))
}

// held makes a verdict "paused" where the pause is why an object is not ready, or
// may be why nobody sees that it is not: a controller that is paused does nothing
// about a change, and its counts are right.
func held(e Snapshot, v ruling) ruling {
	p := e.Object.Pause
	if v.verdict == Failed && p.Code == problem.CodePausedByUser {
		v.reason += "; " + p.Why // what is wrong stays as it is for as long
		return v
	}
	if v.verdict == Failed || v.verdict == Ready && p.Template {
		return v
	}
	if p.Template && !slices.Contains([]problem.Code{problem.CodePodsOutdated, problem.CodePodsSurplus, problem.CodeConditionFalse}, v.code) {
		return v
	}
	hint := p.Hint
	if p.Command != nil {
		hint = e.Commands.Line(*p.Command)
	}
	return ruling{verdict: Paused, code: p.Code, reason: v.reason + "; " + p.Why, hint: hint}
}

// String is the word and the sentence.
func (w Word) String() string {
	switch {
	case w.Phase == "":
		return problem.OneLine(w.Message)
	case w.Message == "":
		return w.Phase
	}
	return w.Phase + ": " + problem.OneLine(w.Message)
}

// added appends the word of the controller to the reason of a verdict.
func (w Word) added(v ruling) ruling {
	if said := w.String(); v.verdict != Ready && said != "" && !strings.Contains(v.reason, said) {
		v.reason += "; its controller reports: " + said
	}
	return v
}

// judgeCounts is judge for an object that its controller has seen.
func judgeCounts(e Snapshot, r Report, children []Child) ruling {
	o, problems := e.Object, r.Problems
	counts := readyCount(o)
	short, missing := shortfall(o, counts)
	if o.Word.Ready != nil && *o.Word.Ready {
		missing = false // the kind's own word for it is binding
	}
	told := !missing
	settled := told && !behind(e, r)
	// What ails a pod does not matter where enough others are ready; what the
	// object itself reports does.
	if len(problems) > 0 && problems[0].Fatal && (!settled || len(problems[0].Pods) == 0) {
		return ruling{verdict: Failed, code: problems[0].Code, reason: problems[0].String(), hint: problems[0].Hint}
	}
	v := ruling{verdict: Progressing, code: problem.CodePodsStarting, reason: counts}
	switch {
	case o.NoCount && o.Current == 0 && o.Word.Ready == nil && !vouched(o):
		return judgeWithoutPods(e, r.livePods(), len(r.Pods))
	case missing:
		v.code, v.reason = short.code, short.reason
		if against, found := contradiction(o); found && len(problems) == 0 && o.Foreign && !o.BuiltIn {
			v.reason += "; " + problem.ConditionSays(against)
		}
	case !settled:
		v.code, v.reason = problem.CodeStatusBehind, fmt.Sprintf("%d of %d pods ready, although its status counts %d", r.readyPods(), o.Desired, o.Ready)
	default:
		if v = judgeSettled(e, r, children, counts); v.verdict == Ready || v.code == problem.CodeConditionFalse {
			return v
		}
	}
	if len(problems) > 0 {
		v.code, v.hint = problems[0].Code, problems[0].Hint
		v.reason += "; " + problems[0].String()
	}
	return v
}

// judgeWithoutPods is judge for an object of which nothing tells how many pods it wants,
// and that counts none: of all its pods, some are live.
func judgeWithoutPods(e Snapshot, live, all int) ruling {
	o := e.Object
	complete := slices.IndexFunc(o.newest(), func(c metav1.Condition) bool {
		return slices.Contains([]string{"Complete", "Completed", "Succeeded"}, c.Type) && c.Status == metav1.ConditionTrue
	})
	v := ruling{verdict: NotReconciled, code: problem.CodeNoPods, reason: "no replica field is known for this type, and it has no pods"}
	switch {
	case complete >= 0:
		return ruling{verdict: Ready, code: problem.CodeReady, reason: problem.ConditionSays(o.newest()[complete])}
	case live > 0:
		v = ruling{verdict: Progressing, code: problem.CodePodsStarting, reason: fmt.Sprintf("its status counts none of %s as ready", problem.Quantity(live, "pod"))}
	case all > 0:
		v.verdict, v.reason = Progressing, fmt.Sprintf("no replica field is known for this type, and %s ended", problem.Quantity(all, "pod"))
	default:
		v.hint = nameTheField(o, e.Commands)
	}
	return v
}

// nameTheField is the command that names the replica field of a kind; "" for a kind
// that no CRD defines.
func nameTheField(o Object, commands commandline.Context) string {
	if o.BuiltIn || o.Resource == "" {
		return ""
	}
	return commands.Line(commandline.Kubectl("annotate", "crd", o.Resource, apis.Prefix+"replicas-path=PATH"))
}

// shortfall is the first of an object's own counts that is not as it should be.
func shortfall(o Object, counts string) (ruling, bool) {
	if o.Told != nil && o.indirect() && !o.NoCount && o.Uncounted {
		switch told := *o.Told; {
		case told > o.Desired:
			return ruling{code: problem.CodePodsSurplus, reason: fmt.Sprintf("%s, %d too many", o.quantity(told), told-o.Desired)}, true
		case told < o.Desired:
			return ruling{code: problem.CodePodsMissing, reason: fmt.Sprintf("%d of %d %s exist", told, o.Desired, o.unit())}, true
		}
	}
	desired := o.Desired
	if o.Several {
		// Its pods in all are a measure of nothing but each other.
		desired = max(o.Current, o.Desired)
	}
	wanted := desired
	if o.UpdatedWanted != nil {
		wanted = *o.UpdatedWanted
	}
	short := func(code problem.Code, format string, numbers ...any) (ruling, bool) {
		return ruling{code: code, reason: fmt.Sprintf(format, numbers...)}, true
	}
	switch {
	case o.Current < desired:
		return short(problem.CodePodsMissing, "%s, %d not yet created", counts, desired-o.Current)
	case o.Updated != nil && *o.Updated < wanted:
		return short(problem.CodePodsOutdated, "%s, %d not yet replaced", counts, wanted-*o.Updated)
	case o.Current > desired:
		return short(problem.CodePodsSurplus, "%s, %d too many", o.quantity(o.Current), o.Current-desired)
	case o.Ready < desired:
		return short(problem.CodePodsStarting, "%s", counts)
	case o.Available != nil && *o.Available < desired:
		return short(problem.CodePodsStarting, "%s, %d available", counts, *o.Available)
	}
	return ruling{}, false
}

// judgeSettled is judge for an object whose own counts are as they should be.
// Whatever still speaks against it is a doubt.
func judgeSettled(e Snapshot, r Report, children []Child, counts string) ruling {
	o := e.Object
	v := ruling{verdict: Progressing, reason: counts}
	for _, c := range children {
		if why, unsettled := c.unsettled(); unsettled {
			v.code, v.reason = problem.CodeChildNotReady, why
			return v
		}
	}
	ready := meta.FindStatusCondition(o.Conditions, readyCondition)
	if against, found := contradiction(o); found {
		v.code, v.reason = problem.CodeConditionFalse, counts+", but "+problem.ConditionSays(against)
		return v
	}
	if o.Word.Unsettled && o.Word.Ready == nil && (o.NoCount || o.Desired > 0) {
		v.code, v.reason = problem.CodeConditionFalse, counts+", but its controller reports: "+o.Word.String()
		return v
	}
	unseen := o.Untracked && !changeSeen(e, r, children)
	if !unseen && idle(e, r, children) {
		since, _ := sinceChange(e, r.Reconciler)
		v.code, v.recheck = problem.CodeChangeNotSeen, attendance-since
		v.reason = fmt.Sprintf("%s, but nothing that it owns has changed since its spec changed %s ago", counts, duration.HumanDuration(max(since, 0)))
		return v
	}
	visible := len(r.Pods) + len(workloads(children))
	bound := o.Word.Ready != nil && *o.Word.Ready || o.NoCount && vouched(o)
	if bound && o.NoCount && o.Current == 0 {
		counts = "its controller reports that it is ready"
	}
	switch {
	case o.Word.Ready != nil && !*o.Word.Ready:
		v.code, v.reason = problem.CodeConditionFalse, fmt.Sprintf("%s, but its ready condition %s is not met (%sready-when)", counts, o.Word.Unmet, apis.Prefix)
	case !o.Foreign:
		v.verdict, v.code = Ready, problem.CodeReady
		if own := r.livePods(); e.Pods != nil && !o.indirect() && own > int(o.Desired) {
			return ruling{verdict: Progressing, code: problem.CodePodsSurplus, reason: fmt.Sprintf("%s, %d too many", problem.Quantity(own, "pod"), own-int(o.Desired))}
		}
	case e.Pods != nil && o.indirect() && o.Desired > 0 && visible == 0 && !bound && ready == nil && (o.Told == nil || o.Selects):
		v.code, v.reason = problem.CodeCannotTell, fmt.Sprintf("cannot tell whether its %s are ready: its status does not count them, and no objects that it owns are visible", o.unit())
	case e.Pods != nil && o.NoCount && o.Total != nil && len(r.Pods) < int(*o.Total) && !bound:
		v.code, v.reason = problem.CodeCannotTell, fmt.Sprintf("cannot tell whether all pods exist: the desired count is unknown; the counts in its spec add up to %d, and %d are visible", *o.Total, len(r.Pods))
	case e.Pods != nil && o.indirect() && o.Total != nil && len(r.Pods) < int(*o.Total) && !bound:
		v.code, v.reason = problem.CodeCannotTell, fmt.Sprintf("cannot tell whether all pods exist: %s is one of several counts, which add up to %d, and %d are visible", o.Count, *o.Total, len(r.Pods))
	case unseen:
		v.code, v.reason = problem.CodeChangeNotSeen, "cannot tell whether its controller has seen the last change: "+r.Reconciler.unanswered()
	default:
		v.verdict, v.code, v.reason = Ready, problem.CodeReady, counts
	}
	return v
}

// vouched reports whether the controller says of this generation of an object
// that it is ready.
func vouched(o Object) bool {
	ready := meta.FindStatusCondition(o.Conditions, readyCondition)
	return !o.Untracked && ready != nil && ready.Status == metav1.ConditionTrue
}

// behind reports whether pods were counted, and fewer are ready than the status
// says. Of what other programs count, only pods that are to be seen are compared.
func behind(e Snapshot, r Report) bool {
	o := e.Object
	if e.Pods == nil || o.indirect() || o.BuiltIn {
		return false
	}
	if o.Foreign && len(r.Pods) == 0 {
		return false
	}
	return r.readyPods() < int(min(o.Ready, o.Desired))
}

func (r Report) livePods() int {
	n := 0
	for _, pod := range r.Pods {
		if pod.live() {
			n++
		}
	}
	return n
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
func judgeDeleting(problems []problem.Problem) ruling {
	const deleting = "it is being deleted"
	held := slices.IndexFunc(problems, func(p problem.Problem) bool {
		return p.Code == problem.CodeFinalizer || p.Code == problem.CodeTerminating
	})
	if held < 0 {
		return ruling{verdict: Progressing, code: problem.CodeDeleting, reason: deleting}
	}
	p := problems[held]
	r := ruling{verdict: Progressing, code: p.Code, reason: deleting + "; " + p.String(), hint: p.Hint}
	if p.Fatal {
		r.verdict = Failed
	}
	return r
}

func readyCount(o Object) string {
	if o.Several {
		return fmt.Sprintf("%d of %d pods ready in total", o.Ready, o.Current)
	}
	if o.Desired == 0 && o.Current == 0 && o.Count != "" && !o.NoCount {
		return "scaled to zero"
	}
	return fmt.Sprintf("%d of %d %s ready", o.Ready, o.Desired, o.unit())
}
