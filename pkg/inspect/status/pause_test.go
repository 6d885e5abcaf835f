package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// During a pause, the verdict is "paused", whatever the counts are. A failed object stays failed,
// and the reason names both the failure and the pause.
func TestVerdictOnUserPause(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 5, 0, 0, time.UTC)
	pause := apis.Pause{Until: now.Add(2 * time.Hour), By: "alice", Reason: "INC-7"}
	const words, hint = "; paused until 14:05 by alice: INC-7", "kubectl imoocpod resume lamp/foo -n ns"
	whole := Object{Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}}
	short := whole
	short.Current, short.Ready = 1, 1
	failed := short
	failed.Conditions = []metav1.Condition{{Type: apis.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: "QuotaExceeded", Message: "exceeded quota"}}
	unseen := whole
	unseen.Generation = 3
	deleting := whole
	deleting.Deleted = now
	for name, c := range map[string]struct {
		object  Object
		pause   apis.Pause
		verdict Verdict
		code    problem.Code
		reason  string
		hint    string
		recheck time.Duration
	}{
		"with all pods":            {whole, pause, Paused, problem.CodePausedByUser, "3 of 3 pods ready" + words, hint, 2 * time.Hour},
		"with pods missing":        {short, pause, Paused, problem.CodePausedByUser, "1 of 3 pods ready, 2 not yet created" + words, hint, 2 * time.Hour},
		"with a change not seen":   {unseen, pause, Paused, problem.CodePausedByUser, "its controller has not seen the last change (generation 3, observed 2)" + words, hint, 2 * time.Hour},
		"failed":                   {failed, pause, Failed, problem.CodeQuotaExceeded, "cannot create more pods: exceeded quota" + words, "kubectl describe quota -n ns", 2 * time.Hour},
		"forever":                  {whole, apis.Pause{Forever: true}, Paused, problem.CodePausedByUser, "3 of 3 pods ready; paused forever", hint, 0},
		"being deleted":            {deleting, pause, Progressing, problem.CodeDeleting, "it is being deleted", "", 2 * time.Hour},
		"over":                     {whole, apis.Pause{Until: now}, Ready, problem.CodeReady, "3 of 3 pods ready", "", 0},
		"an end that is not read":  {whole, apis.Pause{Invalid: "it must be a time"}, Ready, problem.CodeReady, "3 of 3 pods ready", "", 0},
		"not read, and not paused": {short, apis.Pause{Invalid: "it must be a time"}, Progressing, problem.CodeInvalidPause, "1 of 3 pods ready, 2 not yet created; it is not paused: it must be a time", hint, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.object
			o.Type, o.Resource, o.Namespace, o.Name, o.UserPause = "lamp.x.y", "lamps.x.y", "ns", "foo", c.pause
			e := Snapshot{Object: o, Now: now}
			mustCarryFlags(t, e)
			r := NewReport(e)
			if r.Verdict != c.verdict || r.ReasonCode != c.code || r.Reason != c.reason || r.Hint != c.hint || r.Recheck != c.recheck {
				t.Errorf("%s (%s): %s, hint %q, recheck %s\nwant %s (%s): %s, hint %q, recheck %s",
					r.Verdict, r.ReasonCode, r.Reason, r.Hint, r.Recheck, c.verdict, c.code, c.reason, c.hint, c.recheck)
			}
			if active := c.pause.Active(now); (r.Pause != nil) != active {
				t.Errorf("the report has the pause %+v", r.Pause)
			}
			if invalid := len(r.Problems) > 0 && r.Problems[len(r.Problems)-1].Code == problem.CodeInvalidPause; invalid != (c.pause.Invalid != "") {
				t.Errorf("the problems are %+v", r.Problems)
			}
		})
	}
}
