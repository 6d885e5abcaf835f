package grace

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// A wait ends only if the object has failed for the whole grace period without interruption. The period continues if
// a controller replaces the failing pods, and restarts after progress or a new spec.
func TestPeriod(t *testing.T) {
	t.Parallel()
	is := func(verdict status.Verdict) status.Report { return status.Report{Verdict: verdict} }
	crashed := func(uid string, verdict status.Verdict, ready int32, generation int64) status.Report {
		r := status.Report{Verdict: verdict, Metadata: status.Metadata{Generation: generation}, Replicas: status.Replicas{Ready: ready}}
		if uid != "" {
			r.Pods = []problem.Pod{{Name: "p", UID: types.UID(uid)}}
			r.Problems = []problem.Problem{{Code: problem.CodeCrashLoop, Container: "main", Pods: []string{"p"}, Fatal: verdict == status.Failed}}
		}
		return r
	}
	recovers := status.Report{Verdict: status.Progressing, Metadata: status.Metadata{Generation: 1}, Pods: []problem.Pod{{Name: "p", UID: "a"}}}
	type look struct {
		at     int
		report status.Report
		over   bool
		again  int
	}
	usual := Period{For: 20 * time.Second}
	for name, test := range map[string]struct {
		period Period
		looks  []look
	}{
		"never fails": {usual, []look{
			{0, is(status.NotReconciled), false, 0}, {50, is(status.Progressing), false, 0}, {99, is(status.Ready), false, 0},
		}},
		"keeps failing": {usual, []look{
			{5, is(status.Progressing), false, 0}, {10, is(status.Failed), false, 20}, {15, is(status.Failed), false, 15},
			{29, is(status.Failed), false, 1}, {30, is(status.Failed), true, 0},
		}},
		"keeps failing, long gap between reports": {usual, []look{
			{10, is(status.Failed), false, 20}, {99, is(status.Failed), true, 0},
		}},
		"stops failing: period restarts": {usual, []look{
			{0, is(status.Failed), false, 20}, {19, is(status.Failed), false, 1}, {19, is(status.Progressing), false, 0},
			{21, is(status.Failed), false, 20}, {40, is(status.Failed), false, 1}, {41, is(status.Failed), true, 0},
		}},
		"zero period": {Period{}, []look{{0, is(status.Progressing), false, 0}, {1, is(status.Failed), true, 0}}},
		"endless period": {Period{Endless: true, For: time.Second}, []look{
			{0, is(status.Failed), false, 0}, {99, is(status.Failed), false, 0},
		}},
		"pods are replaced: period continues": {usual, []look{{0, crashed("a", status.Failed, 1, 1), false, 20}, {3, crashed("", status.Progressing, 1, 1), false, 0}, {15, crashed("b", status.Failed, 1, 1), false, 5}, {21, crashed("b", status.Failed, 1, 1), true, 0}}},
		"each pod crashes once":               {usual, []look{{0, crashed("a", status.Progressing, 0, 1), false, 0}, {3, crashed("", status.Progressing, 0, 1), false, 0}, {15, crashed("b", status.Progressing, 0, 1), false, 5}, {21, crashed("b", status.Progressing, 0, 1), true, 0}}},
		"one pod crashed once":                {usual, []look{{0, crashed("a", status.Progressing, 0, 1), false, 0}, {30, crashed("a", status.Progressing, 0, 1), false, 0}}},
		"pod recovers: period restarts":       {usual, []look{{0, crashed("a", status.Failed, 0, 1), false, 20}, {15, recovers, false, 0}, {21, crashed("a", status.Failed, 0, 1), false, 20}}},
		"more ready pods: period restarts":    {usual, []look{{0, crashed("a", status.Failed, 0, 1), false, 20}, {15, crashed("", status.Progressing, 1, 1), false, 0}, {21, crashed("b", status.Failed, 1, 1), false, 20}}},
		"spec changes: period restarts":       {usual, []look{{0, crashed("a", status.Failed, 0, 1), false, 20}, {21, crashed("b", status.Failed, 0, 2), false, 20}}},
	} {
		p := test.period
		for _, l := range test.looks {
			over, again := p.Look(l.report, time.Unix(int64(l.at), 0))
			if over != l.over || again != time.Duration(l.again)*time.Second {
				t.Errorf("%s, at %ds: over %t, again after %s; want %t, %ds", name, l.at, over, again, l.over, l.again)
			}
		}
	}
}
