package status

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	updating := []words.Claim{{Text: "its controller reports: Updating", Meaning: words.Working}}
	const hint = "kubectl imoocpod run-controller -n ns --kinds lamps.x"
	failure := func(s metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: apis.ConditionReplicaFailure, Status: s, Reason: "QuotaExceeded", Message: "exceeded quota"}}
	}
	ready := func(s metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: apis.ConditionReady, Status: s, ObservedGeneration: generation, Reason: "Syncing", Message: "the members elect"}}
	}
	for name, test := range map[string]struct {
		object  Object
		verdict Verdict
		reason  string
		hint    string
	}{
		"never seen": {
			Object{Counts: Counts{Desired: 3}, Evidence: Evidence{Generation: 1}},
			NotReconciled, "no controller has seen it yet", hint,
		},
		"never seen, and none wanted": {
			Object{Evidence: Evidence{Generation: 1}},
			NotReconciled, "no controller has seen it yet", hint,
		},
		"a change not seen, though the counts are those wanted": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 3, ObservedGeneration: 2}},
			NotReconciled, "its controller has not seen the last change (generation 3, observed 2)", hint,
		},
		"a change not seen hides an old failure": {
			Object{Counts: Counts{Desired: 3}, Evidence: Evidence{Generation: 3, ObservedGeneration: 2, Conditions: failure(metav1.ConditionTrue)}},
			NotReconciled, "its controller has not seen the last change (generation 3, observed 2)", hint,
		},
		"all ready": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2, Conditions: failure(metav1.ConditionFalse)}},
			Ready, "3 of 3 pods ready", "",
		},
		"none wanted and none there": {
			Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Ready, "0 of 0 pods ready", "",
		},
		"pods to be made": {
			Object{Counts: Counts{Desired: 3, Current: 1, Ready: 1}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Progressing, "1 of 3 pods ready, 2 not yet created", "",
		},
		"pods made and not ready": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 1}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Progressing, "1 of 3 pods ready", "",
		},
		"pods to be removed": {
			Object{Counts: Counts{Desired: 1, Current: 3, Ready: 1}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Progressing, "3 pods, 2 too many", "",
		},
		"more ready than wanted": {
			Object{Counts: Counts{Desired: 1, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Progressing, "3 pods, 2 too many", "",
		},
		"a refused create": {
			Object{Counts: Counts{Desired: 3, Current: 1, Ready: 1}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2, Conditions: failure(metav1.ConditionTrue)}},
			Failed, "cannot create more pods: exceeded quota", "kubectl describe quota -n ns",
		},
		"a failure that is reported beside the right count": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2, Conditions: failure(metav1.ConditionTrue)}},
			Failed, "cannot create more pods: exceeded quota", "kubectl describe quota -n ns",
		},
		"pods of an older template": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3, Updated: new(int32(1))}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Progressing, "3 of 3 pods ready, 2 not yet replaced", "",
		},
		"all of the newest template": {
			Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3, Updated: new(int32(3))}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}},
			Ready, "3 of 3 pods ready", "",
		},
		"a kind that tells by its conditions, and has none": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 2}},
			NotReconciled, "no controller has seen it yet", "check that the controller of lamps.x is installed and running",
		},
		"a kind that tells by its conditions, and has only counts": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 1, Managers: wrote("", 60, 30)}},
			Ready, "3 of 3 pods ready", "",
		},
		"a kind that tells by its conditions, and has only a phase": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 1, Managers: wrote("", 60, 30), Word: Word{Phase: "Running"}}},
			Ready, "3 of 3 pods ready", "",
		},
		"a status without the generation that its schema has": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 1, Managers: wrote("", 60, 30)}},
			Ready, "3 of 3 pods ready", "",
		},
		"too few are ready, and a condition says why": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 2}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Conditions: ready(metav1.ConditionFalse, 4)}},
			Progressing, "2 of 3 pods ready; its condition Ready is False: Syncing: the members elect", "",
		},
		"a phase of work that is not done": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Word: Word{Phase: "Updating"}, Claims: updating}},
			Progressing, "3 of 3 pods ready, but its controller reports: Updating", "",
		},
		"a phase of work, while none are wanted": {
			Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Word: Word{Phase: "Pending"}, Claims: updating}},
			Ready, "0 of 0 pods ready", "",
		},
		"a phase of work, where the kind declares what is ready": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Word: Word{Phase: "Updating", Ready: new(true)}, Claims: updating}},
			Ready, "3 of 3 pods ready", "",
		},
		"a condition of an older generation": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{ObservedGeneration: 3, Conditioned: true, Generation: 4, Conditions: ready(metav1.ConditionTrue, 3)}},
			NotReconciled, "its controller has not seen the last change (generation 4, observed 3)", "check that the controller of lamps.x is installed and running",
		},
		"a condition says that it is ready, of which change nobody knows": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 4, Conditions: ready(metav1.ConditionTrue, 0)}},
			Progressing, "cannot tell whether its controller has seen the last change: its status has no observedGeneration, and has never been written", "",
		},
		"a condition says that it is ready, since the object was made": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 1, Conditions: ready(metav1.ConditionTrue, 0), Managers: wrote("", 60, 30)}},
			Ready, "3 of 3 pods ready", "",
		},
		"a condition of this generation says that it is ready": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{ObservedGeneration: 4, Conditioned: true, Generation: 4, Conditions: ready(metav1.ConditionTrue, 4)}},
			Ready, "3 of 3 pods ready", "",
		},
		"a condition says that it is not ready, whatever the counts": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Untracked: true, Conditioned: true, Generation: 4, Conditions: ready(metav1.ConditionFalse, 4)}},
			Progressing, "3 of 3 pods ready, but its condition Ready is False: Syncing: the members elect", "",
		},
		"being deleted, whatever else": {
			Object{Identity: Identity{Deleted: lookedAt()}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2, Conditions: failure(metav1.ConditionTrue)}},
			Progressing, "it is being deleted", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.object.Namespace, test.object.Resource = "ns", "lamps.x"
			e := Snapshot{Object: test.object, Now: lookedAt()}
			mustCarryFlags(t, e)
			r := NewReport(e)
			verdict, reason, hint := r.Verdict, r.Reason, r.Hint
			if verdict != test.verdict || reason != test.reason || hint != test.hint {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", verdict, reason, hint, test.verdict, test.reason, test.hint)
			}
		})
	}
}

// wrote returns managed fields with a write of the spec through a subresource, and a write of the
// status. spec and status are the ages of these writes in seconds. If status is 0, there is no write
// of the status.
func wrote(subresource string, spec, status int) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource string, ago int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(lookedAt().Add(-time.Duration(ago) * time.Second))
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, Time: &at}
	}
	all := []metav1.ManagedFieldsEntry{entry("somebody", subresource, spec)}
	if status > 0 {
		all = append(all, entry("operator", "status", status))
	}
	return all
}

// scaled adds a later write through the /scale of a custom resource to the result of wrote. This
// write has no time.
func scaled(spec, status int) []metav1.ManagedFieldsEntry {
	return append(wrote("", spec, status), metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"})
}

// If a status has no observed generation, other evidence must show that the controller has seen the
// last change.
func TestChangeSeen(t *testing.T) {
	t.Parallel()
	at := func(ago int) time.Time { return lookedAt().Add(-time.Duration(ago) * time.Second) }
	three := func(o Object) Object {
		o.Foreign, o.Untracked, o.UID, o.Created = true, true, "it", at(1000)
		o.Desired, o.Current, o.Ready = 3, 3, 3
		if o.Generation == 0 {
			o.Generation = 2
		}
		return o
	}
	child := func(made, changed int) []Child {
		c := Child{Kind: "StatefulSet", Name: "s", UID: "s", Controller: "it", Created: at(made), Desired: new(int32(3)), Ready: new(int32(3))}
		if changed > 0 {
			c.Managers = wrote("", changed, 0)
		}
		return []Child{c}
	}
	for name, test := range map[string]struct {
		object   Object
		children []Child
		acted    bool
		seen     bool
	}{
		"nothing is known":                                {three(Object{}), nil, false, false},
		"its status was written before":                   {three(Object{Evidence: Evidence{Managers: wrote("", 10, 20)}}), nil, false, false},
		"its status was written in the same second":       {three(Object{Evidence: Evidence{Managers: wrote("", 10, 10)}}), nil, false, false},
		"its status was written after":                    {three(Object{Evidence: Evidence{Managers: wrote("", 10, 9)}}), nil, false, true},
		"a wait saw it written":                           {three(Object{Evidence: Evidence{Managers: wrote("", 10, 10)}}), nil, true, true},
		"made, and its status written in the same second": {three(Object{Evidence: Evidence{Generation: 1, Managers: wrote("", 10, 10)}}), nil, false, true},
		"made, and nobody wrote":                          {three(Object{Evidence: Evidence{Generation: 1, Managers: wrote("", 10, 0)}}), nil, false, false},
		"made, and a child is there":                      {three(Object{Evidence: Evidence{Generation: 1, Managers: wrote("", 10, 0)}}), child(10, 0), false, true},
		"a child was made after":                          {three(Object{Evidence: Evidence{Managers: wrote("", 10, 0)}}), child(9, 0), false, true},
		"a child was made before":                         {three(Object{Evidence: Evidence{Managers: wrote("", 10, 0)}}), child(11, 0), false, false},
		"a child was made before, and all is recent":      {three(Object{Evidence: Evidence{Managers: wrote("", 5, 0)}}), child(100, 50), false, false},
		"a child was changed after":                       {three(Object{Evidence: Evidence{Managers: wrote("", 10, 0)}}), child(100, 9), false, true},
		"a child was changed before":                      {three(Object{Evidence: Evidence{Managers: wrote("", 10, 0)}}), child(100, 11), false, false},
		"only the count was changed, and is right":        {three(Object{Evidence: Evidence{Managers: wrote("scale", 10, 0), OnlyCounted: true}}), nil, false, true},
		"only the count was changed, of one group":        {three(Object{Counts: Counts{Several: true}, Evidence: Evidence{Managers: wrote("scale", 10, 0), OnlyCounted: true}}), nil, false, false},
		"only the count was changed, and /scale tells it": {three(Object{Counts: Counts{Several: true, ScaleCount: new(int32(3))}, Evidence: Evidence{Managers: wrote("scale", 10, 0), OnlyCounted: true}}), nil, false, true},
		"scaled at some time, and the count is right":     {three(Object{Evidence: Evidence{Managers: scaled(10, 9)}}), nil, false, true},
		"scaled at some time, one group":                  {three(Object{Counts: Counts{Several: true}, Evidence: Evidence{Managers: scaled(10, 9)}}), nil, false, false},
		"scaled at some time, one group, as a wait saw":   {three(Object{Counts: Counts{Several: true}, Evidence: Evidence{Managers: scaled(10, 9)}}), nil, true, true},
	} {
		r := NewReport(Snapshot{Object: test.object, Children: test.children, Acted: test.acted, Now: lookedAt()})
		if (r.Verdict == Ready) != test.seen || !test.seen && (r.ReasonCode != problem.CodeChangeNotSeen || !strings.Contains(r.Reason, "has seen the last change")) {
			t.Errorf("%s: it is %s (%s): %s", name, r.Verdict, r.ReasonCode, r.Reason)
		}
	}
}

// A controller can report a generation before it acts on the change. Shortly after the change, a
// changed child is required, too.
func TestSeenAndNothingDone(t *testing.T) {
	t.Parallel()
	at := func(ago int) time.Time { return lookedAt().Add(-time.Duration(ago) * time.Second) }
	child := func(made, changed int) []Child {
		return []Child{{Kind: "StatefulSet", Name: "s", UID: "s", Controller: "it", Created: at(made), Managers: wrote("", changed, 1), Desired: new(int32(3)), Ready: new(int32(3))}}
	}
	deeper := append(child(100, 50), Child{Kind: "ReplicaSet", Name: "r", UID: "r", Controller: "s", Created: at(1), Desired: new(int32(3)), Ready: new(int32(3))})
	itself := wrote("", 5, 4)
	itself[0].Manager = "operator"
	for name, test := range map[string]struct {
		object   Object
		children []Child
		below    bool
		ready    bool
	}{
		"nothing has changed":                      {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, child(100, 50), false, false},
		"only what is further below":               {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, deeper, false, false},
		"a child, in the same second":              {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, child(100, 5), false, true},
		"a child was made":                         {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, child(4, 50), false, true},
		"a wait saw a child change":                {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, child(100, 50), true, true},
		"it has had its time":                      {Object{Evidence: Evidence{Managers: wrote("", 10, 4)}}, child(100, 50), false, true},
		"only the count was changed, and is right": {Object{Evidence: Evidence{Managers: wrote("scale", 5, 4), OnlyCounted: true}}, child(100, 50), false, true},
		"its controller has changed the spec":      {Object{Evidence: Evidence{Managers: itself}}, child(100, 50), false, true},
		"it was made":                              {Object{Evidence: Evidence{Generation: 1, ObservedGeneration: 1, Managers: wrote("", 5, 4)}}, child(100, 50), false, true},
		"it has pods and nothing between":          {Object{Evidence: Evidence{Managers: wrote("", 5, 4)}}, nil, false, true},
	} {
		o := test.object
		o.Foreign, o.UID, o.Desired, o.Current, o.Ready = true, "it", 3, 3, 3
		if o.Generation == 0 {
			o.Generation, o.ObservedGeneration = 2, 2
		}
		r := NewReport(Snapshot{Object: o, Children: test.children, ActedBelow: test.below, Now: lookedAt()})
		if !test.ready && r.Recheck != absentAfter-5*time.Second {
			t.Errorf("%s: it is looked at again in %s", name, r.Recheck)
		}
		if (r.Verdict == Ready) != test.ready || !test.ready && r.ReasonCode != problem.CodeChangeNotSeen {
			t.Errorf("%s: it is %s (%s): %s", name, r.Verdict, r.ReasonCode, r.Reason)
		}
	}
}

// If a controller does not see a change, it is considered absent only after some time, and only if
// it does not write the status.
func TestUnseen(t *testing.T) {
	t.Parallel()
	failure := []metav1.Condition{{Type: "Stalled", Status: metav1.ConditionTrue, Reason: "NoDisk", Message: "the disk is full"}}
	at := func(ago int) time.Time { return lookedAt().Add(-time.Duration(ago) * time.Second) }
	for name, test := range map[string]struct {
		object  Object
		since   time.Time
		verdict Verdict
		code    problem.Code
	}{
		"long ago, and nobody wrote": {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: wrote("", 60, 90)}}, time.Time{}, NotReconciled, problem.CodeGenerationNotSeen},
		"just now":                   {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: wrote("", 9, 90)}}, time.Time{}, Progressing, problem.CodeGenerationNotSeen},
		"its controller writes, the generation later": {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: wrote("", 60, 50)}}, time.Time{}, Progressing, problem.CodeGenerationNotSeen},
		"when the time is over":                       {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: wrote("", 10, 90)}}, time.Time{}, NotReconciled, problem.CodeGenerationNotSeen},
		"made just now":                               {Object{Identity: Identity{Created: lookedAt().Add(-3 * time.Second)}, Evidence: Evidence{Generation: 1}}, time.Time{}, Progressing, problem.CodeNeverSeen},
		"made long ago":                               {Object{Identity: Identity{Created: lookedAt().Add(-time.Minute)}, Evidence: Evidence{Generation: 1}}, time.Time{}, NotReconciled, problem.CodeNeverSeen},
		"never seen, and it failed":                   {Object{Evidence: Evidence{Generation: 1, Conditions: failure}}, time.Time{}, Failed, problem.CodeReportedFailure},
		"failed before the change":                    {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Conditions: failure, Managers: wrote("", 60, 90)}}, time.Time{}, NotReconciled, problem.CodeGenerationNotSeen},
		"failed after the change":                     {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Conditions: failure, Managers: wrote("", 60, 50)}}, time.Time{}, Failed, problem.CodeReportedFailure},
		"scaled at some time":                         {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: scaled(90, 60)}}, time.Time{}, Progressing, problem.CodeGenerationNotSeen},
		"scaled at some time, seen just now":          {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: scaled(90, 60)}}, at(9), Progressing, problem.CodeGenerationNotSeen},
		"scaled at some time, seen long ago":          {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Managers: scaled(90, 60)}}, at(11), NotReconciled, problem.CodeGenerationNotSeen},
		"failed, and was scaled at some time since":   {Object{Evidence: Evidence{Generation: 2, ObservedGeneration: 1, Conditions: failure, Managers: scaled(90, 60)}}, at(11), NotReconciled, problem.CodeGenerationNotSeen},
	} {
		test.object.Foreign, test.object.Desired = true, 3
		r := NewReport(Snapshot{Object: test.object, Since: test.since, Now: lookedAt()})
		if r.Verdict != test.verdict || r.ReasonCode != test.code {
			t.Errorf("%s: it is %s (%s): %s", name, r.Verdict, r.ReasonCode, r.Reason)
		}
		if r.Verdict != Failed && !strings.Contains(r.Reason, "seen") {
			t.Errorf("%s: it does not say that nobody has seen it: %s", name, r.Reason)
		}
		// The verdict on a recent change must be checked again within absentAfter.
		if waits := strings.Contains(r.Reason, "; the spec changed "); waits != (r.Recheck > 0 && r.Recheck <= absentAfter) {
			t.Errorf("%s: %q is looked at again after %s", name, r.Reason, r.Recheck)
		}
	}
}

// An object is ready only if all of its children are settled.
func TestChildren(t *testing.T) {
	t.Parallel()
	set := func(change func(*Child)) Child {
		c := Child{
			Kind: "StatefulSet", Name: "s", UID: "s", Controller: "it", Generation: 2, ObservedGeneration: 2, Tracked: true,
			Desired: new(int32(2)), Current: new(int32(2)), Ready: new(int32(2)), Updated: new(int32(2)), Available: new(int32(2)),
		}
		change(&c)
		return c
	}
	below := set(func(c *Child) { c.Name, c.UID, c.Controller, c.Ready = "below", "b", "s", new(int32(1)) })
	vouches := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	for name, test := range map[string]struct {
		object   Object
		children []Child
		verdict  Verdict
		code     problem.Code
		reason   string
	}{
		"no count, as its controller says":        {Object{Counts: Counts{ReadyUnknown: true, NoCount: true, Total: new(int32(3))}, Evidence: Evidence{Conditions: vouches}}, nil, Ready, problem.CodeReady, "its condition Ready is True"},
		"no count, and nobody says anything":      {Object{Counts: Counts{ReadyUnknown: true, NoCount: true, Total: new(int32(3))}}, nil, NotReconciled, problem.CodeNoPods, "no replica field is known for this type"},
		"no count, and fewer than the spec names": {Object{Counts: Counts{NoCount: true, Total: new(int32(3))}}, nil, Progressing, problem.CodeCannotTell, "the counts in its spec add up to 3, and 0 are visible"},
		"one of several counts":                   {Object{Counts: Counts{Several: true, Count: ".spec.a", Total: new(int32(5))}}, []Child{set(func(*Child) {})}, Progressing, problem.CodeCannotTell, "the counts in its spec add up to 5, and 0 are visible"},
		"as wanted":                               {Object{}, []Child{set(func(*Child) {})}, Ready, problem.CodeReady, ""},
		"not seen":                                {Object{}, []Child{set(func(c *Child) { c.Generation = 3 })}, Progressing, problem.CodeChildNotReady, "StatefulSet/s: its controller has not seen the last change (generation 3, observed 2)"},
		"not ready":                               {Object{}, []Child{set(func(c *Child) { c.Ready = new(int32(1)) })}, Progressing, problem.CodeChildNotReady, "StatefulSet/s: 1 of 2 pods ready"},
		"not updated":                             {Object{}, []Child{set(func(c *Child) { c.Updated = new(int32(0)) })}, Progressing, problem.CodeChildNotReady, "StatefulSet/s: 0 of 2 pods updated"},
		"partitioned":                             {Object{}, []Child{set(func(c *Child) { c.Updated, c.UpdatedWanted = new(int32(1)), new(int32(1)) })}, Ready, problem.CodeReady, ""},
		"not available":                           {Object{}, []Child{set(func(c *Child) { c.Available = new(int32(1)) })}, Progressing, problem.CodeChildNotReady, "StatefulSet/s: 1 of 2 pods available"},
		"too many":                                {Object{}, []Child{set(func(c *Child) { c.Current = new(int32(3)) })}, Progressing, problem.CodeChildNotReady, "StatefulSet/s: 3 pods, 1 too many"},
		"further down":                            {Object{}, []Child{set(func(*Child) {}), below}, Progressing, problem.CodeChildNotReady, "StatefulSet/below: 1 of 2 pods ready"},
		"a shard for a child":                     {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, ScaleCount: new(int32(2))}}, []Child{set(func(*Child) {}), set(func(c *Child) { c.UID, c.Ready = "t", new(int32(1)) })}, Progressing, problem.CodePodsStarting, "1 of 2 shards ready"},
		"shards, all there":                       {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, ScaleCount: new(int32(2))}}, []Child{set(func(*Child) {}), set(func(c *Child) { c.UID = "t" })}, Ready, problem.CodeReady, "2 of 2 shards ready"},
		"shards, a child to come":                 {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, Count: ".spec.shards", ScaleCount: new(int32(2)), Total: new(int32(4))}}, []Child{set(func(*Child) {})}, Progressing, problem.CodeCannotTell, "the counts in its spec add up to 4"},
		"shards, nothing seen":                    {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, ScaleCount: new(int32(2)), Selects: true}}, nil, Progressing, problem.CodeCannotTell, "cannot tell whether its shards are ready"},
		"tasks, nothing to see":                   {Object{Counts: Counts{Unit: "task", ReadyUnknown: true, ScaleCount: new(int32(2))}}, nil, Ready, problem.CodeReady, "2 of 2 tasks ready"},
	} {
		o := test.object
		o.UID, o.Foreign, o.Generation, o.ObservedGeneration, o.Desired = "it", true, 2, 2, 2
		if !o.ReadyUnknown {
			o.Current, o.Ready = 2, 2
		}
		r := NewReport(Snapshot{Object: o, Pods: problem.Pods{}, Children: test.children, Now: lookedAt()})
		if r.Verdict != test.verdict || r.ReasonCode != test.code || !strings.Contains(r.Reason, test.reason) {
			t.Errorf("%s: it is %s (%s): %s", name, r.Verdict, r.ReasonCode, r.Reason)
		}
	}
}

// The verdict is "paused" only if the pause can explain why the object is not ready.
func TestPaused(t *testing.T) {
	t.Parallel()
	template := &Pause{Code: problem.CodePaused, Why: "it is paused", Hint: "resume it", Template: true}
	whole := &Pause{Code: problem.CodePaused, Why: "it is paused", Hint: "resume it"}
	told := &Pause{Code: problem.CodeWaitingForPromotion, Why: "it is waiting for a promotion", Hint: "promote it", Reported: true}
	for name, test := range map[string]struct {
		object  Object
		pause   *Pause
		verdict Verdict
		counts  bool
	}{
		"a new template":                    {Object{Counts: Counts{Current: 3, Ready: 3, Updated: new(int32(0))}, Evidence: Evidence{ObservedGeneration: 2}}, template, Paused, true},
		"a new template, not seen":          {Object{Counts: Counts{Current: 3, Ready: 3, Updated: new(int32(3))}, Evidence: Evidence{ObservedGeneration: 1}}, template, NotReconciled, false},
		"a new count":                       {Object{Counts: Counts{Current: 2, Ready: 2, Updated: new(int32(2))}, Evidence: Evidence{ObservedGeneration: 2}}, template, Progressing, false},
		"nothing to do":                     {Object{Counts: Counts{Current: 3, Ready: 3, Updated: new(int32(3))}, Evidence: Evidence{ObservedGeneration: 2}}, template, Ready, false},
		"nobody looks at it":                {Object{Counts: Counts{Current: 2, Ready: 2}, Evidence: Evidence{ObservedGeneration: 1}}, whole, Paused, false},
		"its counts are those of before":    {Object{Counts: Counts{Current: 3, Ready: 3}, Evidence: Evidence{ObservedGeneration: 2}}, whole, Paused, false},
		"too many, as its controller wants": {Object{Counts: Counts{Current: 6, Ready: 6}, Evidence: Evidence{ObservedGeneration: 2}}, told, Paused, true},
		"told before the change":            {Object{Counts: Counts{Current: 6, Ready: 6}, Evidence: Evidence{ObservedGeneration: 1}}, told, NotReconciled, false},
	} {
		o := test.object
		o.Foreign, o.Generation, o.Desired, o.Pause = true, 2, 3, test.pause
		r := NewReport(Snapshot{Object: o, Now: lookedAt()})
		if r.Verdict != test.verdict || r.Counts != test.counts || r.Verdict == Paused && (r.Hint != test.pause.Hint || r.ReasonCode != test.pause.Code || !strings.HasSuffix(r.Reason, test.pause.Why)) {
			t.Errorf("%s: it is %s (%s): %s (%s)", name, r.Verdict, r.ReasonCode, r.Reason, r.Hint)
		}
	}
}

// Acted compares two snapshots. It detects actions of the controller that the times do not show.
func TestActed(t *testing.T) {
	t.Parallel()
	seen := func(change func(*Snapshot)) Snapshot {
		e := Snapshot{
			Object:   Object{Identity: Identity{UID: "it"}, Counts: Counts{Current: 1}, Evidence: Evidence{Generation: 2, Managers: wrote("", 10, 10)}},
			Children: []Child{{UID: "s", Controller: "it", Generation: 1}, {UID: "far", Controller: "s", Generation: 1}},
		}
		change(&e)
		return e
	}
	before := seen(func(*Snapshot) {})
	for name, test := range map[string]struct {
		change       func(*Snapshot)
		acted, below bool
	}{
		"nothing":                    {func(*Snapshot) {}, false, false},
		"the status, a second later": {func(e *Snapshot) { e.Object.Managers = wrote("", 10, 9) }, true, false},
		"the status, at once":        {func(e *Snapshot) { e.Object.Current = 2 }, true, false},
		"another word":               {func(e *Snapshot) { e.Object.Word.Phase = "Sailing" }, true, false},
		"its child":                  {func(e *Snapshot) { e.Children[0].Generation = 2 }, true, true},
		"a child more":               {func(e *Snapshot) { e.Children = append(e.Children, Child{UID: "t", Controller: "it"}) }, true, true},
		"a child of its child":       {func(e *Snapshot) { e.Children[1].Generation = 2 }, false, false},
		"another's child":            {func(e *Snapshot) { e.Children = append(e.Children, Child{UID: "t", Controller: "other"}) }, false, false},
		"the spec, too":              {func(e *Snapshot) { e.Object.Generation, e.Object.Current = 3, 2 }, false, false},
		"the spec, and its child":    {func(e *Snapshot) { e.Object.Generation, e.Children[0].Generation = 3, 2 }, false, false},
		"another object":             {func(e *Snapshot) { e.Object.UID, e.Object.Current = "that", 2 }, false, false},
		"another object with a child": {func(e *Snapshot) {
			e.Object.UID, e.Children[1].Controller, e.Children[1].Generation = "that", "that", 2
		}, false, false},
	} {
		if acted, below := Acted(before, seen(test.change)); acted != test.acted || below != test.below {
			t.Errorf("%s: %t, below: %t; want %t, %t", name, acted, below, test.acted, test.below)
		}
	}
}

func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/any-resource.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| rule | the object |")
	table, _, _ = strings.Cut(table, "\n\n")
	var listed, all []string
	for _, name := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(table, -1) {
		listed = append(listed, name[1])
	}
	for _, r := range slices.Concat(rules(), amendments()) {
		all = append(all, r.name)
	}
	if !slices.Equal(listed, all) {
		t.Errorf("docs/any-resource.md lists %q, want %q", listed, all)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	const usual = "Deleting Problem Counts ChildNotReady Condition Ready Paused ControllerReports ScaledToZero Parked"
	for name, test := range map[string]struct {
		object Object
		more   string
	}{
		"of this program":      {Object{}, "NotSeen StatusBehind Phase SurplusPods NoController"},
		"built in":             {Object{Identity: Identity{Foreign: true, BuiltIn: true}}, "NotSeen Phase"},
		"of another program":   {Object{Identity: Identity{Foreign: true}}, "NotSeen StatusBehind Phase NothingDone Complete OutOfBounds PodsAtZero"},
		"without generations":  {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Untracked: true}}, "StatusBehind Phase NothingDone ChangeNotSeen Complete OutOfBounds PodsAtZero"},
		"with conditions":      {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Untracked: true, Conditioned: true}}, "NotSeen StatusBehind Phase NothingDone ChangeNotSeen Complete OutOfBounds PodsAtZero"},
		"of shards":            {Object{Identity: Identity{Foreign: true}, Counts: Counts{Unit: "shard"}}, "NotSeen Phase NothingDone NothingVisible Total Complete OutOfBounds PodsAtZero"},
		"of groups":            {Object{Identity: Identity{Foreign: true}, Counts: Counts{Several: true}}, "NotSeen Phase NothingDone NothingVisible Total Complete OutOfBounds Groups PodsAtZero"},
		"of shards, ours":      {Object{Counts: Counts{Unit: "shard"}}, "NotSeen Phase NoController"},
		"without a count":      {Object{Identity: Identity{Foreign: true}, Counts: Counts{NoCount: true}}, "NotSeen Reported StatusBehind Phase NothingDone Total Complete OutOfBounds Groups"},
		"ours without a count": {Object{Counts: Counts{NoCount: true}}, "NotSeen Reported StatusBehind Phase SurplusPods NoController"},
		"that declares ready":  {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Word: Word{Ready: new(true)}}}, "NotSeen StatusBehind NothingDone ReadyWhen Complete OutOfBounds PodsAtZero"},
	} {
		want := strings.Fields(usual + " " + test.more)
		got := slices.Clone(Rules(test.object))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
