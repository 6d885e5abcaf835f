// Package status decides from a snapshot of an object and its pods whether the object is ready. It sends no requests.
package status

import (
	"fmt"
	"slices"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Verdict is the state of an object as a word.
type Verdict string

// The verdicts. Ready means that the controller has seen this generation, all desired pods are ready, there
// are no surplus pods, and no failure is reported.
const (
	Ready         Verdict = "ready"
	Progressing   Verdict = "progressing"    // the object is becoming ready
	Paused        Verdict = "paused"         // the controller waits for a user or for the end of a pause
	Failed        Verdict = "failed"         // the object does not become ready without intervention
	Unknown       Verdict = "unknown"        // the status does not show whether the object is ready
	NotReconciled Verdict = "not reconciled" // no controller has seen the current version of the object
	Parked        Verdict = "parked"         // the object is scaled to zero for a while, and its earlier count is stored
	Deleted       Verdict = "deleted"        // the object does not exist; only a follower or a wait reports this
)

// Settled reports whether the object matches its spec, so that no further changes are expected.
func (v Verdict) Settled() bool { return v == Ready || v == Parked }

// ruling is a verdict with its reason, as a code and as one line of text. The hint is the next step, if any.
type ruling struct {
	verdict Verdict
	code    problem.Code
	reason  string
	hint    string
	recheck time.Duration // like Report.Recheck
}

// view is the input of the rules: the snapshot, and the report without the verdict.
type view struct {
	Snapshot
	report Report
	// counts is a text such as "1 of 3 pods ready". shortfall is the ruling on the first incorrect count, or nil.
	counts    string
	shortfall *ruling
	given     ruling // the ruling so far
}

type rule struct {
	name    string
	applies func(Object) bool   // reports whether the rule is meant for the object
	verdict func(*view) *ruling // returns nil if the rule does not match the object
}

// rules returns the rules in the order of docs/any-resource.md. The first rule that matches decides.
func rules() []rule {
	return []rule{
		{"Deleting", always, deleting},
		{"NotSeen", Object.reportsChange, notSeen},
		{"Problem", always, fatalProblem},
		{"Exists", Object.uncountedBuiltIn, exists},
		{"Reported", Object.countUnknown, reported},
		{"Complete", Object.foreign, complete},
		{"OutOfBounds", Object.ofOthers, outOfBounds},
		{"Counts", always, countsOff},
		{"Groups", Object.grouping, groupShort},
		{"PodsAtZero", Object.countsToZero, podsAtZero},
		{"StatusBehind", Object.countsPods, statusBehind},
		{"ChildNotReady", always, childNotReady},
		{"Condition", always, conditionAgainst},
		{"Phase", Object.declaresNothing, phaseUnsettled},
		{"NothingDone", Object.ofOthers, nothingDone},
		{"ReadyWhen", Object.declaresReady, readyWhenUnmet},
		{"SurplusPods", Object.ourPods, surplusPods},
		{"NothingVisible", Object.countsOther, nothingVisible},
		{"Total", Object.totaled, total},
		{"ChangeNotSeen", Object.reportsNoChange, changeNotSeen},
		{"Ready", always, ready},
	}
}

// amendments returns the rules that amend the verdict, one after the other.
func amendments() []rule {
	return []rule{
		{"Paused", always, paused},
		{"NoController", Object.ours, noController},
		{"ControllerReports", always, controllerReports},
		{"ScaledToZero", always, scaledToZero},
		{"Parked", always, parked},
	}
}

func always(Object) bool { return true }

func (o Object) ours() bool             { return !o.Foreign }
func (o Object) foreign() bool          { return o.Foreign }
func (o Object) ofOthers() bool         { return o.Foreign && !o.BuiltIn }
func (o Object) reportsChange() bool    { return !o.Untracked || o.Conditioned }
func (o Object) reportsNoChange() bool  { return o.Untracked && o.Foreign }
func (o Object) countUnknown() bool     { return o.NoCount }
func (o Object) uncountedBuiltIn() bool { return o.BuiltIn && o.NoCount }
func (o Object) totaled() bool          { return o.Foreign && (o.NoCount || o.indirect()) }
func (o Object) countsToZero() bool     { return o.ofOthers() && !o.NoCount }
func (o Object) grouping() bool         { return o.ofOthers() && (o.Several || o.NoCount) }
func (o Object) ourPods() bool          { return !o.Foreign && !o.indirect() }
func (o Object) countsPods() bool       { return !o.indirect() && !o.BuiltIn }
func (o Object) countsOther() bool      { return o.indirect() && o.Foreign }
func (o Object) declaresReady() bool    { return o.Word.Ready != nil }
func (o Object) declaresNothing() bool  { return o.Word.Ready == nil }

// Rules returns the names of the rules that apply to an object, in order.
func Rules(o Object) []string {
	var names []string
	for _, r := range o.only(slices.Concat(rules(), amendments())) {
		names = append(names, r.name)
	}
	return names
}

func (o Object) only(all []rule) []rule {
	return slices.DeleteFunc(all, func(r rule) bool { return !r.applies(o) })
}

// judge returns the verdict on an object. r is the report on the object, without the verdict.
func judge(s Snapshot, r Report) ruling {
	v := &view{Snapshot: s, report: r, counts: readyCount(s.Object)}
	if !s.Object.declaredReady() {
		v.shortfall = shortfall(s.Object, v.counts)
	}
	for _, rule := range s.Object.only(rules()) {
		if given := rule.verdict(v); given != nil {
			v.given = *given
			break
		}
	}
	if !s.Object.Deleted.IsZero() {
		return v.given
	}
	for _, amendment := range s.Object.only(amendments()) {
		if given := amendment.verdict(v); given != nil {
			v.given = *given
		}
	}
	return v.given
}

// progressing returns the verdict Progressing. The first problem sets the code and the hint, and extends the reason.
func (v *view) progressing(code problem.Code, format string, words ...any) *ruling {
	r := &ruling{verdict: Progressing, code: code, reason: fmt.Sprintf(format, words...)}
	if problems := v.report.Problems; len(problems) > 0 {
		r.code, r.hint = problems[0].Code, problems[0].Hint
		r.reason += "; " + problems[0].String()
	}
	return r
}

// off returns a ruling on a wrong count. The ruling has no verdict.
func off(code problem.Code, format string, words ...any) *ruling {
	return &ruling{code: code, reason: fmt.Sprintf(format, words...)}
}

// contradicted returns the ruling on an object that is not ready although its counts are correct.
func (v *view) contradicted(format string, words ...any) *ruling {
	return &ruling{verdict: Progressing, code: problem.CodeConditionFalse, reason: v.counts + ", but " + fmt.Sprintf(format, words...)}
}
