package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

// planRow is a view, and the plan for it.
type planRow struct {
	Name string
	Owner
	// Pods and Nodes are inputs of the functions pods and node.
	Pods        string
	Nodes       []string
	Deployments []deploymentRow
	// Revisions is an input of the function revisions. If it is set, only revisions are planned, and
	// TemplateHash is a letter for the function templateOf. Running lists such letters, one per pod.
	Revisions *string
	Running   string
	Memory    Memory
	// Refused maps slots to a reason and a message, such as "QuotaExceeded, no".
	Refused map[slots.Slot]string
	// After is the time since an earlier plan, or zero if the plan is the first.
	After metav1.Duration

	// Plan is the output of the function history for revisions, or else of deeds. For nodes, its words are sorted.
	Plan    string
	Recheck metav1.Duration
	// Failure is the condition ReplicaFailure, or "" if it is not true.
	Failure string
	// Counts contains the counts in the status. Ready, Progressing, and Paused are conditions.
	// Remembers lists the slots whose failures and refusals are in the memory. An empty field is not checked.
	Counts, Ready, Progressing, Paused, Remembers string
}

// UnmarshalJSON reads a row. The defaults come from the owner of the function view, with Desired 3 and HistoryLimit 10.
func (row *planRow) UnmarshalJSON(data []byte) error {
	type plain planRow
	*row = planRow{Owner: view(0, "").Owner}
	row.Desired, row.HistoryLimit = 3, 10
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*plain)(row))
}

// deploymentRow is a Deployment from the function deployment, with some fields changed.
type deploymentRow Deployment

func (row *deploymentRow) UnmarshalJSON(data []byte) error {
	made := struct {
		Replicas int32
		Image    string
	}{3, "nginx"}
	if err := json.Unmarshal(data, &made); err != nil {
		return err
	}
	*row = deploymentRow(deployment(made.Replicas, made.Image))
	type plain deploymentRow
	return json.Unmarshal(data, (*plain)(row))
}

func (row planRow) view() (v View, rules func(View) Actions) {
	rules, v = Pods, view(row.Desired, row.Pods)
	switch {
	case row.Nodes != nil:
		rules = Nodes
		for _, words := range row.Nodes {
			v.Nodes = append(v.Nodes, node(words))
		}
	case row.Deployments != nil:
		rules, v = Deployments, deploymentView(row.Desired)
		row.Wanted, row.StatusPaths = v.Owner.Wanted, v.Owner.StatusPaths
		for _, d := range row.Deployments {
			v.Deployments = append(v.Deployments, Deployment(d))
		}
		if row.Problem != "" {
			row.Wanted.Fields = nil
		}
	}
	if row.Revisions != nil {
		rules = func(View) Actions { return Actions{} }
		v.HistoryKnown, v.Revisions = true, revisions(*row.Revisions)
		row.TemplateHash = templateOf(row.TemplateHash)
	}
	for letter := range strings.FieldsSeq(row.Running) {
		v.Pods = append(v.Pods, Pod{Template: templateOf(letter)})
	}
	ending := v.Memory.Ending
	v.Owner, v.Memory = row.Owner, row.Memory
	v.Memory.Ending = ending
	for slot, refusal := range row.Refused {
		reason, message, _ := strings.Cut(refusal, ", ")
		v.Memory = v.Memory.Refused(slot, Refusal{Reason: reason, Message: message, Generation: 1, At: noon})
	}
	if row.After.Duration > 0 {
		v.Memory = Decide(v, rules).Memory
		v.Now = v.Now.Add(row.After.Duration)
	}
	return v, rules
}

// Each file in testdata/plans lists views with the plans for them.
func TestPlans(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/plans/*.yaml", noon, func(t *testing.T, row planRow) { row.check(t) })
}

func (row planRow) check(t *testing.T) {
	v, rules := row.view()
	before, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	a := Decide(v, rules)
	if after, _ := json.Marshal(v); !bytes.Equal(after, before) {
		t.Errorf("the plan modified its view\nfrom %s\nto   %s", before, after)
	}
	plan := deeds(a)
	switch {
	case row.Revisions != nil:
		plan = history(a.Operations)
	case v.Nodes != nil:
		words := strings.Fields(plan)
		slices.Sort(words)
		plan = strings.Join(words, " ")
	}
	if plan != row.Plan || a.Recheck != row.Recheck.Duration {
		t.Errorf("planned %q, recheck after %s; want %q, recheck after %s", plan, a.Recheck, row.Plan, row.Recheck.Duration)
	}
	s := a.Status
	failure := ""
	if meta.IsStatusConditionTrue(s.Conditions, apis.ConditionReplicaFailure) {
		failure = conditionText(s, apis.ConditionReplicaFailure)
	}
	if failure != row.Failure {
		t.Errorf("condition ReplicaFailure = %q, want %q", failure, row.Failure)
	}
	for field, texts := range map[string][2]string{
		"counts":      {row.Counts, fmt.Sprintf("%d of %d pods, %d updated, %d ready", s.Current, s.Desired, s.Updated, s.Ready)},
		"ready":       {row.Ready, conditionText(s, apis.ConditionReady)},
		"progressing": {row.Progressing, conditionText(s, apis.ConditionProgressing)},
		"paused":      {row.Paused, conditionText(s, apis.ConditionPaused)},
		"remembers":   {row.Remembers, fmt.Sprintf("failures %v, refusals %v", sortedSlots(a.Memory.Failures), sortedSlots(a.Memory.Refusals))},
	} {
		if want, got := texts[0], texts[1]; want != "" && got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	row.checkProperties(t, v, a, rules)
}

// checkProperties checks the properties that all plans have in common.
func (row planRow) checkProperties(t *testing.T, v View, a Actions, rules func(View) Actions) {
	if want := row.Deleting || !a.Writes() && v.Owner.Problem == "" && strings.HasPrefix(conditionText(a.Status, apis.ConditionReady), "True"); a.Ready(v) != want {
		t.Errorf("Actions.Ready = %t, want %t", !want, want)
	}
	for _, o := range a.Operations {
		// If a deletion or the restoring of labels fails, later operations are still executed.
		if want := o.Verb == Delete || o.Verb == Patch && o.Kind == KindPod; o.Optional != want {
			t.Errorf("operation %q: Optional = %t, want %t", o, o.Optional, want)
		}
	}
	checkPause(t, v, rules)
	v.Owner.Status, v.Memory = a.Status, a.Memory
	if again := Decide(v, rules); again.WriteStatus || again.StatusLater {
		t.Errorf("after the status %+v was stored, the next plan writes the status %+v, want no status write", a.Status, again.Status)
	}
}

func sortedSlots[T any](of map[slots.Slot]T) []slots.Slot { return slices.Sorted(maps.Keys(of)) }

// checkPause checks that a plan during a pause writes only the status, and that the next plan is due when the
// pause ends, or earlier. After the end of a pause, the plan must be the same as without a pause.
func checkPause(t *testing.T, v View, rules func(View) Actions) {
	if v.Owner.Deleting {
		return
	}
	v.Owner.Pause = apis.Pause{}
	plain := Decide(v, rules)
	for _, pause := range []apis.Pause{{Forever: true}, {Until: v.Now.Add(time.Hour)}} {
		v.Owner.Pause = pause
		a, left := Decide(v, rules), pause.Left(v.Now)
		if a.Writes() || left > 0 && (a.Recheck == 0 || a.Recheck > left) {
			t.Errorf("pause %q: planned %q, recheck after %s; want no writes, and a recheck no later than the end of the pause", pause, a.Operations, a.Recheck)
		}
		paused := meta.IsStatusConditionTrue(a.Status.Conditions, apis.ConditionPaused)
		if len(plain.Status.Conditions) > 0 && (!paused || meta.IsStatusConditionTrue(a.Status.Conditions, apis.ConditionProgressing)) {
			t.Errorf("pause %q: conditions = %+v, want Paused true and Progressing not true", pause, a.Status.Conditions)
		}
	}
	v.Owner.Pause = apis.Pause{Until: v.Now}
	if over := Decide(v, rules); deeds(over) != deeds(plain) {
		t.Errorf("at the end of a pause: planned %q, want %q as without a pause", deeds(over), deeds(plain))
	}
}

func conditionText(s Status, name string) string {
	c := meta.FindStatusCondition(s.Conditions, name)
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%s, %s: %s", c.Status, c.Reason, c.Message)
}
