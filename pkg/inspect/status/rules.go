package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

func deleting(v *view) *ruling {
	if v.Object.Deleted.IsZero() {
		return nil
	}
	r := &ruling{verdict: Progressing, code: problem.CodeDeleting, reason: "it is being deleted"}
	for _, p := range v.report.Problems {
		if p.Code != problem.CodeFinalizer && p.Code != problem.CodeTerminating {
			continue
		}
		if p.Fatal {
			r.verdict = Failed
		}
		r.code, r.hint = p.Code, p.Hint
		r.reason += "; " + p.String()
		break
	}
	return r
}

// fatalProblem returns the verdict for a fatal problem. A pod's problem is ignored if enough other pods are ready, if
// the pod is terminating and enough others are active, or if a rollout of a Deployment replaces the pod.
func fatalProblem(v *view) *ruling {
	for _, p := range v.report.Problems {
		ending := p.Code == problem.CodeTerminating || p.Code == problem.CodeFinalizer
		switch {
		case !p.Fatal, len(p.Pods) > 0 && (v.shortfall == nil && !v.behind() || ending && v.report.ActivePods() >= v.Object.Desired || v.replaced(p.Pods)):
		default:
			return failed(p)
		}
	}
	return nil
}

// replaced reports whether all pods belong to ReplicaSets with older revisions than a ReplicaSet that should have pods.
func (v *view) replaced(pods []string) bool {
	newest, revisions := int64(0), map[types.UID]int64{}
	for _, c := range v.Children {
		if revisions[c.UID] = c.Revision; c.Controller == v.Object.UID && ptr.Deref(c.Desired, 0) > 0 {
			newest = max(newest, c.Revision)
		}
	}
	return !slices.ContainsFunc(v.report.Pods, func(pod problem.Pod) bool {
		of := revisions[pod.Owner]
		return slices.Contains(pods, pod.Name) && (of == 0 || of == newest)
	})
}

func failed(p problem.Problem) *ruling {
	return &ruling{verdict: Failed, code: p.Code, reason: p.String(), hint: p.Hint}
}

// exists returns the verdict on a built-in object on which no controller reports.
func exists(v *view) *ruling {
	if v.Object.Exists == "" {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: v.Object.Exists}
}

// reported judges by the controller's own report if the desired count is unknown and the status counts no pods.
func reported(v *view) *ruling {
	o, c, live, all := v.Object, v.Object.claim, v.report.ActivePods(), len(v.report.Pods)
	const uncounted = "no replica field is known for this type, and "
	nothing := &ruling{verdict: Unknown, code: problem.CodeNothingReported, reason: "its status has " + strings.Join(o.Fields, ", ") +
		", and nothing that says whether it is ready; " + uncounted + "it has no pods"}
	if !o.BuiltIn && o.Resource != "" { // the CRD can name the replica field
		nothing.hint = v.Commands.Line(commandline.Kubectl("annotate", "crd", o.Resource, apis.Prefix+"replicas-path=PATH"))
	}
	switch {
	case o.Word.Ready == nil && all == 0 && o.Word.Phase != "" && words.Of(o.Word.Phase) == words.Nothing && (c.Meaning == words.Nothing || c.Part && o.vouched()):
		return nothing // its parts may be ready, but its own state is unknown
	case !o.unmeasured(), o.vouched(), c.Meaning == words.Paused && o.Pause != nil:
		return nil
	case c.Meaning > words.Nothing:
		return &ruling{verdict: Progressing, code: problem.CodeConditionFalse, reason: c.String()}
	case live > 0:
		return &ruling{verdict: Progressing, code: problem.CodePodsStarting, reason: "its status counts none of " + problem.Quantity(live, "pod") + " as ready"}
	case all > 0:
		return &ruling{verdict: Progressing, code: problem.CodeNoPods, reason: uncounted + problem.Quantity(all, "pod") + " ended"}
	case len(o.Fields) > 0:
		return nothing
	}
	return &ruling{verdict: NotReconciled, code: problem.CodeNoPods, reason: "no controller has written its status; " + uncounted + "it has no pods", hint: v.controllerHint()}
}

func countsOff(v *view) *ruling {
	if v.shortfall == nil {
		return nil
	}
	reason := v.shortfall.reason
	if against := v.Object.objection; against != "" && len(v.report.Problems) == 0 && v.Object.ofOthers() {
		reason += "; " + against
	}
	return v.progressing(v.shortfall.code, "%s", reason)
}

// shortfall returns a ruling on the first incorrect count of an object, or nil.
func shortfall(o Object, counts string) *ruling {
	if o.ScaleCount != nil && o.indirect() && !o.NoCount && o.ReadyUnknown {
		switch count := *o.ScaleCount; {
		case count > o.Desired:
			return off(problem.CodePodsSurplus, "%s, %d too many", o.quantity(count), count-o.Desired)
		case count < o.Desired:
			return off(problem.CodePodsMissing, "%d of %d %s exist", count, o.Desired, o.unit())
		}
	}
	desired := o.Desired
	if o.Several {
		// Current and Ready include the pods of all groups, but Desired is the count of one group.
		desired = max(o.Current, o.Desired)
	}
	wanted := ptr.Deref(o.UpdatedWanted, desired)
	switch {
	case o.Current < desired:
		return off(problem.CodePodsMissing, "%s, %d not yet created", counts, desired-o.Current)
	case o.Updated != nil && *o.Updated < wanted:
		return off(problem.CodePodsOutdated, "%s, %d not yet replaced", counts, wanted-*o.Updated)
	case o.Current > desired:
		return off(problem.CodePodsSurplus, "%s, %d too many", o.quantity(o.Current), o.Current-desired)
	case o.Ready < desired:
		return off(problem.CodePodsStarting, "%s", counts)
	case o.Available != nil && *o.Available < desired:
		return off(problem.CodePodsStarting, "%s, %d available", counts, *o.Available)
	}
	return nil
}

func statusBehind(v *view) *ruling {
	if !v.behind() {
		return nil
	}
	return v.progressing(problem.CodeStatusBehind, "%d of %d pods ready, although its status counts %d", v.report.ReadyPods(), v.Object.Desired, v.Object.Ready)
}

// behind reports whether fewer pods are ready than desired, and fewer than the status counts. It returns false if
// countsPods does, if the pods were not read, or if an object of another program has no visible pods.
func (v *view) behind() bool {
	o := v.Object
	if v.Pods == nil || !o.countsPods() || o.Foreign && len(v.report.Pods) == 0 {
		return false
	}
	return v.report.ReadyPods() < min(o.Ready, o.Desired)
}

func childNotReady(v *view) *ruling {
	for _, c := range v.Children {
		if !v.Object.BuiltIn && v.gaveUp(c) {
			return v.progressing(problem.CodeChildNotReady, "%s/%s has failed", c.Kind, c.Name)
		}
		if why := c.unsettled(); why != "" && !v.superseded(c) {
			return v.progressing(problem.CodeChildNotReady, "%s", why)
		}
	}
	return nil
}

// superseded reports whether a child whose workloads are scaled to zero, such as a Knative Revision, was replaced by a
// later child that is ready.
func (v *view) superseded(old Child) bool {
	later, below := false, slices.DeleteFunc(workloads(v.Children), func(c Child) bool { return c.Controller != old.UID })
	for _, c := range v.Children {
		later = later || c.Kind == old.Kind && c.Controller == old.Controller && c.Created.After(old.Created) && meta.IsStatusConditionTrue(c.Conditions, apis.ConditionReady)
	}
	return later && old.Desired == nil && len(below) > 0 && !slices.ContainsFunc(below, func(c Child) bool { return *c.Desired > 0 })
}

// gaveUp reports whether a Job failed, and its controller has not created another Job since the failure.
func (v *view) gaveUp(job Child) bool {
	failed := meta.FindStatusCondition(job.Conditions, "Failed")
	if job.Kind != "Job" || failed == nil || failed.Status != metav1.ConditionTrue {
		return false
	}
	return !slices.ContainsFunc(v.Children, func(c Child) bool {
		return c.Kind == "Job" && c.Controller == job.Controller && c.Created.After(job.Created) && !c.Created.Before(failed.LastTransitionTime.Time)
	})
}

func conditionAgainst(v *view) *ruling {
	if v.Object.objection == "" {
		return nil
	}
	return v.contradicted("%s", v.Object.objection)
}

func phaseUnsettled(v *view) *ruling {
	o := v.Object
	if c := o.claim; (c.Meaning >= words.Working || c.Meaning == words.Paused && o.SwitchOff) && (o.NoCount || o.Desired > 0) {
		return v.contradicted("%s", c)
	}
	return nil
}

// complete returns the verdict on an object that has ended successfully and has no active pods. A paused object has not
// ended, except a suspended Job that reports that it is complete.
func complete(v *view) *ruling {
	o, claim, by := v.Object, v.Object.claim, v.report.Reconciler
	// An object whose children want pods has not ended: its status means that the last change is complete.
	wants := slices.ContainsFunc(v.Children, func(c Child) bool { return c.Desired != nil && *c.Desired > 0 })
	// The counts might include pods that have ended, so they do not show that the controller has seen the change.
	unseen := o.Untracked && !o.BuiltIn && (!v.changeSeen() || o.OnlyCounted && !v.Acted && !answered(by.Spec, by.Status))
	if claim.Meaning != words.Done || v.report.ActivePods() > 0 || o.Pause != nil && !o.BuiltIn || wants || unseen {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: claim.String()}
}

func readyWhenUnmet(v *view) *ruling {
	word := v.Object.Word
	if *word.Ready {
		return nil
	}
	return v.contradicted("its ready condition %s is not met (%sready-when)", word.Unmet, apis.Prefix)
}

func surplusPods(v *view) *ruling {
	own, desired := v.report.ActivePods(), v.Object.Desired
	if v.Pods == nil || own <= desired {
		return nil
	}
	return v.progressing(problem.CodePodsSurplus, "%s, %d too many", problem.Quantity(own, "pod"), own-desired)
}

// bound reports whether the object is ready according to ready-when or, if its count is unknown, its controller.
func (o Object) bound() bool { return o.declaredReady() || o.NoCount && o.vouched() }

func (o Object) declaredReady() bool { return o.Word.Ready != nil && *o.Word.Ready }

// vouched reports whether the controller reports that the object is ready or complete.
func (o Object) vouched() bool {
	return slices.Contains([]words.Meaning{words.Ready, words.Done}, o.claim.Meaning)
}

func nothingVisible(v *view) *ruling {
	o := v.Object
	visible := len(v.report.Pods) + len(workloads(v.Children))
	counted := o.ScaleCount != nil && !o.Selects
	said := o.bound() || meta.FindStatusCondition(o.Conditions, apis.ConditionReady) != nil
	if v.Pods == nil || o.Desired <= 0 || visible > 0 || counted || said {
		return nil
	}
	return v.progressing(problem.CodeCannotTell, "cannot tell whether its %s are ready: its status does not count them, and no objects that it owns are visible", o.unit())
}

// total returns the verdict on an object with fewer pods than its groups need in total.
func total(v *view) *ruling {
	o, pods := v.Object, len(v.report.Pods)
	if v.Pods == nil || o.Total == nil || pods >= int(*o.Total) || o.grouped() {
		return nil
	}
	// If some pods exist, a word such as "operational" does not prove that all pods exist.
	if o.bound() && (pods == 0 || o.declaredReady() || meta.IsStatusConditionTrue(o.Newest(), apis.ConditionReady)) {
		return nil
	}
	return v.progressing(problem.CodeCannotTell, "cannot tell whether all pods exist: the counts in its spec add up to %d, and %d are visible", *o.Total, pods)
}

func ready(v *view) *ruling {
	r := &ruling{verdict: Ready, code: problem.CodeReady, reason: v.counts}
	if o := v.Object; o.Foreign && o.NoCount && o.Current == 0 && o.bound() {
		r.reason = cmp.Or(o.claim.String(), "its controller reports that it is ready")
	}
	return r
}

// paused returns the verdict Paused if a pause explains the state, even if the object seems ready, because
// a paused controller does not react to changes. In other cases, it may add the pause to the reason.
func paused(v *view) *ruling {
	p, r := v.Object.Pause, v.given
	unseen := r.code == problem.CodeNeverSeen || r.code == problem.CodeGenerationNotSeen
	switch {
	case p == nil, p.Reported && unseen, p.Switch && !v.switchSeen():
		return nil
	case r.verdict == Ready && v.Object.BuiltIn && v.Object.claim.Meaning == words.Done:
		return nil // a complete Job has nothing left to pause
	case r.verdict == Ready && p.Template, r.verdict == Failed && p.Code == problem.CodePausedByUser:
		r.reason += "; " + p.Why // until the pause ends, the controller does nothing about a failure
		return &r
	case r.verdict == Failed,
		p.Template && !slices.Contains([]problem.Code{problem.CodePodsOutdated, problem.CodePodsSurplus, problem.CodeConditionFalse}, r.code):
		return nil
	}
	hint := p.Hint
	if p.Command != nil {
		hint = v.Commands.Line(*p.Command)
	}
	return &ruling{verdict: Paused, code: p.Code, reason: r.reason + "; " + p.Why, hint: hint}
}

// switchSeen reports whether the controller seems to support the pause field. A condition Paused or Suspended decides.
// Otherwise, built-in controllers support it. For others, any status is enough, because a paused controller may stop
// writing its status. Shortly after the spec of an object with active pods changes, only a reaction is evidence.
func (v *view) switchSeen() bool {
	o, by := v.Object, v.report.Reconciler
	if i := slices.IndexFunc(o.Conditions, func(c metav1.Condition) bool { return c.Type == "Paused" || c.Type == "Suspended" }); i >= 0 {
		return o.Conditions[i].Status == metav1.ConditionTrue
	}
	since, _ := v.sinceChange()
	waits := since < absentAfter && v.report.ActivePods() > 0 && !v.Acted && !answered(by.Spec, by.Status)
	return o.BuiltIn || (by.Status != nil || o.ObservedGeneration > 0 || len(o.Conditions) > 0 || o.Word.Phase != "") && !waits
}

func noController(v *view) *ruling {
	r := v.given
	if r.verdict != Progressing || v.Loops == nil || v.report.Reconciler.active(recently, v.Now) {
		return nil
	}
	r.verdict, r.code = NotReconciled, problem.CodeNoController
	r.reason += "; " + v.story()
	r.hint = v.controllerHint()
	return &r
}

// controllerReports adds the controller's own report to the reason. It does not apply if the verdict is ready
// or paused, if the reason already contains the report, or if the report is older than the change.
func controllerReports(v *view) *ruling {
	r, said := v.given, v.Object.Word.String()
	if r.verdict == Ready || r.verdict == Paused || r.code == problem.CodeGenerationNotSeen || said == "" || strings.Contains(r.reason, said) {
		return nil
	}
	r.reason += "; its controller reports: " + said
	return &r
}

func readyCount(o Object) string {
	if o.Several {
		return fmt.Sprintf("%d of %d pods ready in total", o.Ready, max(o.Current, ptr.Deref(o.Total, o.Current)))
	}
	if o.Desired == 0 && o.Current == 0 && o.Count != "" && !o.NoCount {
		return "scaled to zero"
	}
	return fmt.Sprintf("%d of %d %s ready", o.Ready, o.Desired, o.unit())
}

// parked returns the verdict on a parked object that has reached zero pods, even without a report of its controller.
func parked(v *view) *ruling {
	o := v.Object
	if o.Parked == nil || o.Current > 0 || v.report.ActivePods() > 0 || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{
		verdict: Parked, code: problem.CodeParked, reason: o.Parked.Story(v.Now),
		hint: v.Commands.Line(commandline.Plugin("unpark", o.Type+"/"+o.Name).In(o.Namespace)),
	}
}

// scaledToZero is like parked, but returns the verdict Ready on an object that its autoscaler has scaled to zero.
func scaledToZero(v *view) *ruling {
	o, writers := v.Object, v.report.Reverts
	by := slices.IndexFunc(writers, func(w competing.Writer) bool { return w.AtZero })
	none := !o.NoCount && o.Desired == 0 && o.Current == 0 && v.report.ActivePods() == 0
	if by < 0 || !none || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: "scaled to zero by " + writers[by].By}
}

// doubtsZero reports whether an object with zero pods is not ready only because evidence is missing.
func (r ruling) doubtsZero() bool {
	return slices.Contains([]problem.Code{problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeNoPods, problem.CodeNothingReported}, r.code)
}
