package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// The report shows whether a run-controller reconciles an object that needs one. For all objects, it
// shows the last writer of the status.
func TestNobodyReconciles(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return lookedAt().Add(-d) }
	loop := func(renewed time.Duration, scope leaserecord.Scope) leaserecord.Loop {
		return leaserecord.Loop{Holder: "h", User: "alice", Host: "laptop", PID: 4711, Scope: scope, Renewed: ago(renewed)}
	}
	written := func(by string, d time.Duration) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: new(metav1.NewTime(ago(time.Second)))},
			{Manager: "older", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: new(metav1.NewTime(ago(d + time.Hour)))},
			{Manager: by, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: new(metav1.NewTime(ago(d)))},
		}
	}
	here, elsewhere := leaserecord.Scope{Namespace: "shop"}, leaserecord.Scope{Namespace: "other"}
	const resource = "imoocpods.batch.tutorial.kubebuilder.io"
	unseen := Object{Identity: Identity{Resource: resource}, Counts: Counts{Desired: 3}, Evidence: Evidence{Generation: 1}}
	behind := Object{Identity: Identity{Resource: resource}, Counts: Counts{Desired: 3}, Evidence: Evidence{Generation: 4, ObservedGeneration: 3, Managers: written("kubectl-imoocpod", 5*time.Minute)}}
	short := Object{Identity: Identity{Resource: resource}, Counts: Counts{Desired: 3, Current: 1, Ready: 1}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Managers: written("kubectl-imoocpod", 5*time.Minute)}}
	ready := Object{Identity: Identity{Resource: resource}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 4, ObservedGeneration: 4, Managers: written("kubectl-imoocpod", 5*time.Minute)}}
	fresh := short
	fresh.Managers = written("kubectl-imoocpod", time.Second)
	foreign := Object{Identity: Identity{Foreign: true, Resource: "lamps.example.com"}, Evidence: Evidence{Generation: 4, ObservedGeneration: 3, Managers: written("lamp-operator", 3*time.Hour)}}
	foreign.Managers[0].Time = new(metav1.NewTime(ago(time.Minute)))
	declared := unseen
	declared.Resource = "widgets.example.com"
	changed := func(o Object, d time.Duration) Object {
		o.Managers = slices.Clone(o.Managers)
		o.Managers[0].Time = new(metav1.NewTime(ago(d)))
		return o
	}
	justNow, long := changed(behind, time.Second), changed(behind, noticedWithin)
	behind = changed(behind, time.Minute)
	busy := justNow
	busy.Managers = written("kubectl-imoocpod", 2*time.Second)
	created := unseen
	created.Created = ago(time.Second)
	const run = "kubectl imoocpod run-controller -n shop"
	for name, test := range map[string]struct {
		object       Object
		loops        []leaserecord.Loop
		verdict      Verdict
		code         problem.Code
		reason, hint string
	}{
		"never seen, and nobody there": {unseen, []leaserecord.Loop{}, NotReconciled, problem.CodeNeverSeen, "no controller has seen it yet", run},
		"never seen, a loop elsewhere": {unseen, []leaserecord.Loop{loop(0, elsewhere)}, NotReconciled, problem.CodeNeverSeen, "no controller has seen it yet", run},
		"never seen, but a loop lives": {unseen, []leaserecord.Loop{loop(0, here)}, NotReconciled, problem.CodeNeverSeen, "no controller has seen it yet", "check the log of the controller: alice on laptop (process 4711)"},
		"a change not seen": {behind, []leaserecord.Loop{loop(time.Hour, here)}, NotReconciled, problem.CodeGenerationNotSeen,
			"its controller has not seen the last change (generation 4, observed 3); its status was last written by kubectl-imoocpod 5m ago; no controller is running for it", run},
		"a change not seen, and leases not read": {behind, nil, NotReconciled, problem.CodeGenerationNotSeen,
			"its controller has not seen the last change (generation 4, observed 3); its status was last written by kubectl-imoocpod 5m ago", run},
		"left in the middle": {short, []leaserecord.Loop{}, NotReconciled, problem.CodeNoController,
			"1 of 3 pods ready, 2 not yet created; its status was last written by kubectl-imoocpod 5m ago; no controller is running for it", run},
		"at work":                         {short, []leaserecord.Loop{loop(0, leaserecord.Scope{})}, Progressing, problem.CodePodsMissing, "1 of 3 pods ready, 2 not yet created", ""},
		"at work without a lease":         {fresh, []leaserecord.Loop{}, Progressing, problem.CodePodsMissing, "1 of 3 pods ready, 2 not yet created", ""},
		"in the middle, leases not read":  {short, nil, Progressing, problem.CodePodsMissing, "1 of 3 pods ready, 2 not yet created", ""},
		"ready, whoever runs":             {ready, []leaserecord.Loop{}, Ready, problem.CodeReady, "3 of 3 pods ready", ""},
		"declared by a CRD, nobody there": {declared, []leaserecord.Loop{loop(0, here)}, NotReconciled, problem.CodeNeverSeen, "no controller has seen it yet", run + " --kinds widgets.example.com"},
		"another program's, not seen": {foreign, nil, NotReconciled, problem.CodeGenerationNotSeen,
			"its controller has not seen the last change (generation 4, observed 3); its status was last written by lamp-operator 3h ago", "check that the controller of lamps.example.com is installed and running"},
		"changed just now, and a loop lives":         {justNow, []leaserecord.Loop{loop(0, here)}, Progressing, problem.CodeGenerationNotSeen, "the controller has not seen the change yet", ""},
		"changed just now, and seen a moment before": {busy, nil, Progressing, problem.CodeGenerationNotSeen, "the controller has not seen the change yet", ""},
		"changed just now, and nobody there": {justNow, []leaserecord.Loop{}, NotReconciled, problem.CodeGenerationNotSeen,
			"its controller has not seen the last change (generation 4, observed 3); its status was last written by kubectl-imoocpod 5m ago; no controller is running for it", run},
		"changed a while ago, and a loop lives": {long, []leaserecord.Loop{loop(0, here)}, NotReconciled, problem.CodeGenerationNotSeen,
			"its controller has not seen the last change (generation 4, observed 3); its status was last written by kubectl-imoocpod 5m ago; a controller is running: alice on laptop (process 4711)", "check the log of the controller: alice on laptop (process 4711)"},
		"created just now, and a loop lives": {created, []leaserecord.Loop{loop(0, here)}, Progressing, problem.CodeNeverSeen, "the controller has not seen it yet", ""},
	} {
		test.object.Namespace = "shop"
		e := Snapshot{Object: test.object, Loops: test.loops, Now: lookedAt()}
		mustCarryFlags(t, e)
		r := NewReport(e)
		if r.Verdict != test.verdict || r.ReasonCode != test.code || r.Reason != test.reason || r.Hint != test.hint {
			t.Errorf("%s: it is %s (%s): %s (%s)", name, r.Verdict, r.ReasonCode, r.Reason, r.Hint)
		}
		if young := strings.HasPrefix(r.Reason, "the controller has not seen"); young != (r.Recheck > 0 && r.Recheck <= noticedWithin) {
			t.Errorf("%s: it is looked at again after %s", name, r.Recheck)
		}
	}
}
