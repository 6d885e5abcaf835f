package status

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

type verdictRow struct {
	Name string
	Snapshot
	// Annotations contains the user's pause.
	Annotations map[string]string
	// Status holds fields that report the state of the object.
	Status map[string]any
	Wrote  *writes
	// Pods lists the states of the pods, such as "ready" or "ending". The hash of a template may follow, such as in
	// "ready with a". The object controls a pod unless its owner follows, such as in "ready of set". A name may
	// follow, such as in "ready as web-0". All pods have the label app=web.
	Pods []string
	// Recorded is the name of a file with pods (see recorded).
	Recorded string

	// Report is the verdict, its code, and its reason. Counts, Hint, and Recheck are the values in the report.
	Report  string
	Hint    string
	Counts  bool
	Recheck metav1.Duration
	// Problems lists the codes of the problems. By default, a failed object has one problem, and others have none.
	Problems []problem.Code
	// Replicas contains the counts in the report, or is "" if they do not matter.
	Replicas string
	// Reverts and Guards list the writers and the disruption budgets in the report.
	Reverts, Guards []string
}

// snapshot returns the snapshot of a row, taken at lookedAt.
func (row verdictRow) snapshot(t *testing.T) Snapshot {
	t.Helper()
	s := row.Snapshot
	s.Now = lookedAt()
	s.Object.UserPause = apis.ReadPause(row.Annotations)
	s.Object.Claims = words.Read(s.Object.Kind, map[string]any{"status": row.Status})
	if row.Wrote != nil {
		s.Object.Managers = row.Wrote.managers()
	}
	switch {
	case row.Recorded != "":
		s.Pods = recorded(t, row.Recorded).Pods
	case row.Pods != nil:
		s.Pods = []*problem.Pod{}
	}
	for i, state := range row.Pods {
		s.Pods = append(s.Pods, podIn(t, state, i, s))
	}
	return s
}

// writes contains the times of the last writes to the spec and the status. Status is nil if it was not written.
type writes struct {
	Spec, Status *metav1.Time
	// Subresource is the subresource through which the spec was written.
	Subresource string
	// Scaled is set if the last write was through the /scale of a custom resource. This write has no time.
	Scaled bool
}

func (w writes) managers() []metav1.ManagedFieldsEntry {
	update := metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationUpdate}
	spec, status, scale := update, update, update
	spec.Manager, spec.Subresource, spec.Time = "somebody", w.Subresource, w.Spec
	status.Manager, status.Subresource, status.Time = "operator", "status", w.Status
	scale.Manager, scale.Subresource = "kubectl", "scale"
	all := []metav1.ManagedFieldsEntry{spec}
	if w.Status != nil {
		all = append(all, status)
	}
	if w.Scaled {
		all = append(all, scale)
	}
	return all
}

func ago(seconds int) *metav1.Time {
	return new(metav1.NewTime(lookedAt().Add(-time.Duration(seconds) * time.Second)))
}

func podIn(t *testing.T, state string, i int, s Snapshot) *problem.Pod {
	t.Helper()
	state, name, named := strings.Cut(state, " as ")
	if !named {
		name = fmt.Sprint("p", i)
	}
	state, owner, owned := strings.Cut(state, " of ")
	if !owned {
		owner = string(s.Object.UID)
	}
	state, hash, templated := strings.Cut(state, " with ")
	pod := ownedPod(name, types.UID(owner))
	pod.UID = types.UID(pod.Name)
	pod.Labels = map[string]string{"app": "web"}
	if templated {
		pod.Labels[apis.LabelTemplateHash] = hash
	}
	ready := corev1.ConditionFalse
	switch state {
	case "ready":
		ready = corev1.ConditionTrue
	case "unready":
	case "ending":
		pod.DeletionTimestamp = &metav1.Time{Time: s.Now}
	case "stuck":
		pod.DeletionTimestamp = ago(3600)
	case "succeeded":
		pod.Status.Phase = corev1.PodSucceeded
	case "failed":
		pod.Status.Phase = corev1.PodFailed
	default:
		t.Fatalf("unknown pod state %q", state)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return problem.NewPod(&pod)
}

// Each file in testdata/verdicts lists snapshots with the reports that they get.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/verdicts/*.yaml", lookedAt(), func(t *testing.T, row verdictRow) {
		s := row.snapshot(t)
		mustCarryFlags(t, s)
		r := NewReport(s)
		row.check(t, r)
		if active := s.Object.UserPause.Active(s.Now); (r.Pause != nil) != active {
			t.Errorf("Pause = %+v, want a pause: %t", r.Pause, active)
		}
		if r.Problems == nil {
			t.Error("Problems is nil, want an empty list")
		}
		if len(r.Pods) != len(s.Pods) {
			t.Errorf("report has %d pods, want %d", len(r.Pods), len(s.Pods))
		}
	})
}

func (row verdictRow) check(t *testing.T, r Report) {
	t.Helper()
	var problems []problem.Code
	for _, p := range r.Problems {
		problems = append(problems, p.Code)
	}
	if row.Problems == nil && r.Verdict == Failed {
		row.Problems = []problem.Code{r.ReasonCode}
	}
	report := fmt.Sprintf("%s (%s): %s", r.Verdict, r.ReasonCode, r.Reason)
	if report != row.Report || r.Hint != row.Hint || !slices.Equal(problems, row.Problems) {
		t.Errorf("%s\nhint: %s\nproblems: %v\nwant %s\nhint: %s\nproblems: %v", report, r.Hint, problems, row.Report, row.Hint, row.Problems)
	}
	if r.Recheck != row.Recheck.Duration || r.Counts != row.Counts {
		t.Errorf("Recheck = %s, want %s; Counts = %t, want %t", r.Recheck, row.Recheck.Duration, r.Counts, row.Counts)
	}
	replicas := fmt.Sprintf("%d of %d, %d ready", r.Replicas.Current, r.Replicas.Desired, r.Replicas.Ready)
	if r.Replicas.Unknown {
		replicas += ", unknown count"
	}
	if row.Replicas != "" && replicas != row.Replicas {
		t.Errorf("replicas = %q, want %q", replicas, row.Replicas)
	}
	var reverts, guards []string
	for _, writer := range r.Reverts {
		reverts = append(reverts, writer.By+": "+writer.Message)
	}
	for _, b := range r.Budgets {
		guards = append(guards, fmt.Sprintf("%s; %d of %d healthy, %d needed", b, b.Healthy, b.Pods, b.Needed))
	}
	if !slices.Equal(reverts, row.Reverts) || !slices.Equal(guards, row.Guards) {
		t.Errorf("writers that revert the count = %q, want %q; budgets = %q, want %q", reverts, row.Reverts, guards, row.Guards)
	}
	if settled := r.Verdict == Ready || r.Verdict == Parked; r.Verdict.Settled() != settled {
		t.Errorf("Settled() of verdict %s = %t, want %t", r.Verdict, !settled, settled)
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
		"ours":               {Object{}, "NotSeen StatusBehind Phase SurplusPods NoController"},
		"built in":           {Object{Identity: Identity{Foreign: true, BuiltIn: true}}, "NotSeen Phase Complete"},
		"of another program": {Object{Identity: Identity{Foreign: true}}, "NotSeen StatusBehind Phase NothingDone Complete OutOfBounds PodsAtZero"},
		"no generation":      {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Untracked: true}}, "StatusBehind Phase NothingDone ChangeNotSeen Complete OutOfBounds PodsAtZero"},
		"conditions only":    {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Untracked: true, Conditioned: true}}, "NotSeen StatusBehind Phase NothingDone ChangeNotSeen Complete OutOfBounds PodsAtZero"},
		"count of shards":    {Object{Identity: Identity{Foreign: true}, Counts: Counts{Unit: "shard"}}, "NotSeen Phase NothingDone NothingVisible Total Complete OutOfBounds PodsAtZero"},
		"count of a group":   {Object{Identity: Identity{Foreign: true}, Counts: Counts{Several: true}}, "NotSeen Phase NothingDone NothingVisible Total Complete OutOfBounds Groups PodsAtZero"},
		"ours, of shards":    {Object{Counts: Counts{Unit: "shard"}}, "NotSeen Phase NoController"},
		"no count":           {Object{Identity: Identity{Foreign: true}, Counts: Counts{NoCount: true}}, "NotSeen Reported StatusBehind Phase NothingDone Total Complete OutOfBounds Groups"},
		"built in, no count": {Object{Identity: Identity{Foreign: true, BuiltIn: true}, Counts: Counts{NoCount: true}}, "NotSeen Exists Reported Phase Total Complete"},
		"ours, no count":     {Object{Counts: Counts{NoCount: true}}, "NotSeen Reported StatusBehind Phase SurplusPods NoController"},
		"declares ready":     {Object{Identity: Identity{Foreign: true}, Evidence: Evidence{Word: Word{Ready: new(true)}}}, "NotSeen StatusBehind NothingDone ReadyWhen Complete OutOfBounds PodsAtZero"},
	} {
		want := strings.Fields(usual + " " + test.more)
		got := slices.Clone(Rules(test.object))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: rules = %q, want %q", name, got, want)
		}
	}
}
