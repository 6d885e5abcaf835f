package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// absentAfter is how long another program's object stays Progressing after a change if its controller does not react,
// for example with the code ChangeNotSeen.
const absentAfter = 10 * time.Second

// sameSecond is the period after a change of the spec in which a child that changed in the same second is not evidence
// of a reaction. Times have a resolution of one second, so the child might have changed before the spec.
const sameSecond = 1500 * time.Millisecond

// noticedWithin is the maximum time that a running controller takes to see a change.
const noticedWithin = 5 * time.Second

// undated reports whether a change of the spec has no known time. managedFields contain no time for a write through the
// /scale of a custom resource, which changes only the count. The spec of an object at generation 1 has never changed.
func (o Object) undated() bool {
	return o.Generation > 1 && slices.ContainsFunc(o.Managers, func(m metav1.ManagedFieldsEntry) bool {
		ofSpec, _ := fieldpath.Writes(m)
		return ofSpec && m.Time == nil
	})
}

// answered reports whether the status was written after the spec. The order within a second is unknown.
func answered(spec, status *fieldpath.Write) bool {
	return spec != nil && status != nil && status.Time.After(spec.Time.Time)
}

func changeNotSeen(v *view) *ruling {
	if v.changeSeen() {
		return nil
	}
	return v.progressing(problem.CodeChangeNotSeen, "cannot tell whether its controller has seen the last change: %s", v.report.Reconciler.unanswered())
}

// nothingDone returns the verdict on an object whose controller has seen the last change, but may not have acted on it.
func nothingDone(v *view) *ruling {
	if v.Object.Untracked && !v.changeSeen() || !v.idle() {
		return nil
	}
	since, _ := v.sinceChange()
	r := v.progressing(problem.CodeChangeNotSeen, "%s, but nothing that it owns has changed since its spec changed", v.counts)
	r.recheck = max(absentAfter-since, 0)
	return r
}

// changeSeen reports whether there is evidence that the controller has seen the last change of an object without an
// observed generation. It assumes that the counts of the object and of its children are correct.
func (v *view) changeSeen() bool {
	o, spec, status := v.Object, v.report.Reconciler.Spec, v.report.Reconciler.Status
	switch {
	case v.Acted:
		return true
	case o.undated() && !v.countShows():
		return false
	case answered(spec, status):
		return true
	case o.Generation <= 1:
		// The spec has never changed, so any status, child, or pod is evidence.
		return status != nil || len(v.Children)+len(v.report.Pods) > 0
	case o.OnlyCounted && v.countShows():
		return true
	case spec == nil:
		return false
	}
	return byItself(spec, status) || v.changedBelow(spec.Time.Add(time.Second)) || slices.ContainsFunc(v.report.Pods, func(pod problem.Pod) bool {
		return pod.Owner == o.UID && pod.Created.After(spec.Time.Time)
	})
}

// countShows reports whether the counts prove that the controller has seen the last change of the count.
func (v *view) countShows() bool {
	o, pods := v.Object, len(v.report.Pods)
	switch {
	case o.ScaleCount != nil:
		return *o.ScaleCount == o.Desired
	case o.indirect():
		return o.exact() // without a label for each group, the count includes the pods of other groups
	}
	return !o.ReadyUnknown || len(workloads(v.Children)) <= 1 && pods == int(o.Desired)
}

// idle reports whether the controller seems not to have acted on a recent change of the spec. Some controllers report
// the new generation and counts before they act. After a change of the count, the pods and the counts of children
// decide. If the groups of pods cannot be told apart, the object then stays idle until a child or a pod changes.
func (v *view) idle() bool {
	o, by := v.Object, v.report.Reconciler
	since, known := v.sinceChange()
	if o.Generation <= 1 || by.Spec == nil || !known || v.ActedBelow || byItself(by.Spec, by.Status) {
		return false
	}
	recent, at := since < absentAfter, by.Spec.Time.Time
	switch {
	case o.undated():
		at = v.Since.Add(-noticedWithin)
	case since < sameSecond:
		at = at.Add(time.Second)
	}
	changed := v.changedBelow(at)
	if o.OnlyCounted || v.Counted || o.undated() {
		switch {
		case o.Several && o.ReadyUnknown && !o.exact() && !v.sorted() && !changed && !v.podsChanged(at):
			return true
		case recent && !v.countBelow():
			return true
		case v.countShows():
			return false
		}
	}
	below := slices.ContainsFunc(workloads(v.Children), func(c Child) bool { return c.Controller == o.UID })
	return recent && below && !changed
}

// changedBelow reports whether a direct child was created or changed at or after a time. Times are in whole seconds.
func (v *view) changedBelow(at time.Time) bool {
	return slices.ContainsFunc(v.Children, func(c Child) bool {
		made, _ := fieldpath.LastWrites(c.Managers)
		return c.Controller == v.Object.UID && (!c.Created.Before(at) || made != nil && !made.Time.Time.Before(at))
	})
}

func (v *view) podsChanged(at time.Time) bool {
	return slices.ContainsFunc(v.report.Pods, func(pod problem.Pod) bool { return !pod.Created.Before(at) || pod.Ending })
}

// countBelow reports whether the count of a direct child, the sum of these counts, or the number of
// pods matches the desired count. It returns true if there is nothing to compare.
func (v *view) countBelow() bool {
	o, sum, below := v.Object, int32(0), 0
	for _, c := range workloads(v.Children) {
		if c.Controller != o.UID {
			continue
		}
		if *c.Desired == o.Desired {
			return true
		}
		below++
		sum += *c.Desired
	}
	return o.indirect() || o.NoCount || below+len(v.report.Pods) == 0 || below > 0 && sum == o.Desired || v.report.ActivePods() == o.Desired
}

// byItself reports whether the controller made the last change of the spec.
func byItself(spec, status *fieldpath.Write) bool {
	return status != nil && status.Manager == spec.Manager && !strings.HasPrefix(spec.Manager, "kubectl")
}

func notSeen(v *view) *ruling {
	o, by := v.Object, v.report.Reconciler
	r := &ruling{verdict: NotReconciled, code: problem.CodeGenerationNotSeen, hint: v.controllerHint()}
	never := !o.Untracked && o.ObservedGeneration == 0 || o.Untracked && len(o.Conditions) == 0 && o.Word.Phase == ""
	switch {
	case never && o.Foreign && by.Status != nil && (v.Acted || o.Generation <= 1 || answered(by.Spec, by.Status)):
		return nil // the controller never writes a generation
	case never:
		r.code, r.reason = problem.CodeNeverSeen, o.neverSeen(by.Status)
	case o.Untracked || o.ObservedGeneration >= o.Generation:
		return nil
	default:
		r.reason = fmt.Sprintf("its controller has not seen the last change (generation %d, observed %d)", o.Generation, max(o.ObservedGeneration, 0))
	}
	since, known := v.sinceChange()
	if !o.Foreign && known && since > -noticedWithin && since < noticedWithin && by.active(noticedWithin, v.Now) {
		seen := "the controller has not seen the change yet"
		if never {
			seen = "the controller has not seen it yet"
		}
		return &ruling{verdict: Progressing, code: r.code, reason: seen, recheck: noticedWithin - max(since, 0)}
	}
	wrote := v.Acted || !o.undated() && answered(by.Spec, by.Status) || never && by.Status != nil
	if problems := v.report.Problems; o.Foreign && len(problems) > 0 && problems[0].Fatal {
		if wrote || never {
			return failed(problems[0])
		}
		if len(problems[0].Pods) > 0 {
			return v.progressing(r.code, "%s", r.reason) // the controller might be waiting for the pod
		}
	}
	if by.Status != nil {
		r.reason += "; " + v.story()
	}
	switch {
	case !o.Foreign:
	case wrote:
		r.verdict, r.hint = Progressing, ""
	case o.undated() && !known:
		r.verdict = Progressing
		r.reason += "; the time of the change is unknown"
	case since < absentAfter:
		r.verdict, r.hint, r.recheck = Progressing, "", absentAfter-since
		r.reason += "; the spec changed a moment ago"
	}
	return r
}

func (o Object) neverSeen(written *fieldpath.Write) string {
	switch {
	case !o.Foreign || written == nil:
		return "no controller has seen it yet"
	case o.Untracked:
		return "its status has no conditions yet"
	}
	return "its status does not say which generation its controller has seen"
}

// sinceChange returns how long ago the spec last changed or the object was created, and whether this is known.
func (v *view) sinceChange() (since time.Duration, known bool) {
	changed := v.Object.Created
	if spec := v.report.Reconciler.Spec; spec != nil && spec.Time.After(changed) {
		changed = spec.Time.Time
	}
	if v.Object.undated() || v.Counted && v.Since.After(changed) {
		changed = v.Since
	}
	return v.Now.Sub(changed), !changed.IsZero()
}
