package observe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

// Conditions of older generations and invalid conditions are ignored.
func TestConditionsOfAnObject(t *testing.T) {
	t.Parallel()
	const object = `
metadata: {generation: 3}
spec: {replicas: 2}
status: {observedGeneration: 3, readyReplicas: 2, conditions: [{type: Ready, status: "True"}, {type: Old, status: "True", observedGeneration: 2}]}`
	const behind = `
metadata: {generation: 4}
status: {observedGeneration: 3, readyReplicas: 2, conditions: [{type: Ready, status: "True"}, {type: Fresh, status: "True", observedGeneration: 4}]}`
	for _, test := range []struct {
		word, object string
		met          bool
	}{
		{"condition=Ready", object, true},
		{"condition=ready=TRUE", object, true},
		{"condition=Ready=False", object, false},
		{"condition=Old", object, false},
		{"condition=None", object, false},
		{"condition=Ready", behind, false},
		{"condition=Fresh", behind, true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 3}]}}", true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True'}]}}", true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {conditions: [odd, {type: Ready, status: 'True'}]}}", true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {conditions: [{status: 'True'}, {type: Ready, status: 'False'}]}}", false},
		{"condition=Ready", "{metadata: {generation: 3}, status: {observedGeneration: odd, conditions: [{type: Ready, status: 'True'}]}}", true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {observedGeneration: 4, conditions: [{type: Ready, status: 'True'}]}}", true},
		{"condition=Ready", "{metadata: {generation: 3}, status: {conditions: odd}}", false},
		{"condition=Ready", "{metadata: {generation: 3}}", false},
		{"jsonpath={.status.readyReplicas}=2", object, true},
		{"jsonpath=.status.readyReplicas=3", object, false},
		{"jsonpath={.spec.replicas}", object, true},
		{"jsonpath={.spec.none}", object, false},
		{"create", object, true},
		{"CREATE", "", false},
		{"delete", object, false},
		{"delete", "", true},
	} {
		condition, err := ParseCondition(test.word)
		if err != nil {
			t.Fatalf("--for=%s: %v", test.word, err)
		}
		var o Observation
		if test.object != "" {
			o = observed(t, test.object)
		}
		if met, err := condition.met(o, false); met != test.met || err != nil {
			t.Errorf("--for=%s with object %s: met = %t, error %v, want %t", test.word, test.object, met, err, test.met)
		}
	}
	for _, word := range []string{"", "ready=true", "condition", "jsonpath=", "jsonpath={.status", "none"} {
		if _, err := ParseCondition(word); err == nil {
			t.Errorf("--for=%s is accepted, want an error", word)
		}
	}
}

// observed returns an observation of an object, with the conditions in its status.
func observed(t *testing.T, object string) Observation {
	t.Helper()
	var o Observation
	o.Object = parse(t, object)
	known, err := facts.Of(kinds.ImoocPod(), o.Object)
	if err != nil {
		t.Fatal(err)
	}
	o.Report.Conditions = known.Conditions
	return o
}

// A wait ends with an error if the object was deleted or never existed.
func TestConditionOnMissingObject(t *testing.T) {
	t.Parallel()
	ready := Ready()
	target := Target{Kind: kinds.ImoocPod(), Name: "foo"}
	if _, err := ready.met(Observation{Target: target}, false); !apierrors.IsNotFound(err) {
		t.Errorf("object that never existed: error = %v, want NotFound", err)
	}
	target.Object = parse(t, "metadata: {name: foo}")
	if met, err := ready.met(Observation{Target: target, Report: status.Report{Verdict: status.Progressing}}, false); met || err != nil {
		t.Errorf("progressing object: met = %t, error %v, want false and no error", met, err)
	}
	target.Object = nil
	if _, err := ready.met(Observation{Target: target}, true); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("deleted object: error = %v, want ErrGone", err)
	}
}

// Paused and Resumed compare the controller's status condition with the annotations, because changing
// annotations does not increase the generation.
func TestConditionsOfAPause(t *testing.T) {
	t.Parallel()
	const (
		forever = `annotations: {imoocpod.dev/paused-until: forever, imoocpod.dev/paused-by: alice}`
		timed   = `annotations: {imoocpod.dev/paused-until: "2026-11-22T13:05:00Z"}`
		resumed = `annotations: {}`
		paused  = `{type: Paused, status: "True", reason: Paused, message: paused forever by alice}`
		hour    = `{type: Paused, status: "True", reason: Paused, message: "paused until 2026-11-22T13:05:00Z"}`
		over    = `{type: Paused, status: "False", reason: PauseEnded, message: "the pause ended at 2026-11-22T13:05:00Z"}`
		ended   = `{type: Paused, status: "False", reason: Resumed, message: the object is not paused}`
		ready   = `{type: Ready, status: "True", reason: PodsReady, message: ""}`
	)
	for name, test := range map[string]struct {
		condition   Condition
		annotations string
		reported    string
		verdict     status.Verdict
		met         bool
	}{
		"paused, not seen yet":                            {Paused(), forever, ready, status.Paused, false},
		"paused, seen":                                    {Paused(), forever, paused, status.Paused, true},
		"paused after a failure, seen":                    {Paused(), forever, paused, status.Failed, true},
		"paused again, only the first pause seen":         {Paused(), timed, paused, status.Paused, false},
		"paused again, seen":                              {Paused(), timed, hour, status.Paused, true},
		"paused after a resume, not seen yet":             {Paused(), forever, ended, status.Paused, false},
		"the pause has ended, seen":                       {Paused(), timed, over, status.Ready, true},
		"the pause has ended, never seen":                 {Paused(), timed, ready, status.Ready, false},
		"resumed, not seen yet":                           {Resumed(), resumed, paused, status.Ready, false},
		"resumed, seen":                                   {Resumed(), resumed, ended, status.Ready, true},
		"resumed, seen, not ready":                        {Resumed(), resumed, ended, status.Progressing, false},
		"resumed after the pause has ended, not seen yet": {Resumed(), resumed, over, status.Ready, false},
		"resumed before a controller saw the pause":       {Resumed(), resumed, ready, status.Ready, true},
	} {
		o := observed(t, "metadata: {name: foo, "+test.annotations+"}\nstatus: {conditions: ["+ready+", "+test.reported+"]}")
		o.Kind, o.Name, o.Report.Verdict = kinds.ImoocPod(), "foo", test.verdict
		if met, err := test.condition.met(o, false); met != test.met || err != nil {
			t.Errorf("%s: met = %t, error %v", name, met, err)
		}
	}
	// For other controllers, the verdict is enough.
	o := Observation{Target: Target{Kind: kinds.Kind{Resource: kinds.ImoocPod().Resource, Kind: "Lamp"}, Name: "foo"}, Report: status.Report{Verdict: status.Paused}}
	o.Object = parse(t, "metadata: {name: foo}")
	if met, err := Paused().Met(o); !met || err != nil {
		t.Errorf("a kind of another controller: met = %t, error %v, want true", met, err)
	}
}

// Scaled is met when the object is ready, or when all pods are ready and only the rollout is paused.
func TestConditionScaled(t *testing.T) {
	t.Parallel()
	for name, test := range []struct {
		what     string
		verdict  status.Verdict
		counts   bool
		replicas status.Replicas
		met      bool
	}{
		{"ready", status.Ready, false, status.Replicas{Desired: 3, Current: 3, Ready: 3}, true},
		{"progressing", status.Progressing, false, status.Replicas{Desired: 3, Current: 3, Ready: 2}, false},
		{"rollout paused, all pods ready", status.Paused, true, status.Replicas{Desired: 3, Current: 3, Ready: 3}, true},
		{"rollout paused, one pod not ready", status.Paused, true, status.Replicas{Desired: 3, Current: 3, Ready: 2}, false},
		{"whole object paused", status.Paused, false, status.Replicas{Desired: 3, Current: 3, Ready: 3}, false},
	} {
		o := Observation{Report: status.Report{Verdict: test.verdict, Counts: test.counts, Replicas: test.replicas}}
		o.Kind, o.Object = kinds.ImoocPod(), parse(t, "spec: {replicas: 3}")
		if met, err := Scaled(3, true).Met(o); met != test.met || err != nil {
			t.Errorf("row %d, %s: met = %t, error %v", name, test.what, met, err)
		}
	}
}

// If the replica field is unknown, Scaled uses the count in the report.
func TestConditionScaledByTheReport(t *testing.T) {
	t.Parallel()
	for desired, want := range map[int32]error{3: nil, 5: outcome.ErrOverwritten} {
		o := Observation{Report: status.Report{Verdict: status.Ready, Replicas: status.Replicas{Desired: desired, Current: desired, Ready: desired}}}
		o.Kind, o.Name, o.Object = kindOf("example.com/v1", "Set"), "foo", parse(t, "spec: {}")
		if met, err := Scaled(3, false).Met(o); met != (want == nil) || !errors.Is(err, want) {
			t.Errorf("report with %d replicas: met = %t, error %v", desired, met, err)
		}
	}
}

func TestConditionWithoutTerminating(t *testing.T) {
	t.Parallel()
	failed := errors.New("it cannot be told")
	for _, test := range []struct {
		what string
		met  bool
		err  error
		pods []problem.Pod
		want bool
	}{
		{"no pod terminates", true, nil, []problem.Pod{{}, {}}, true},
		{"one pod terminates", true, nil, []problem.Pod{{}, {Ending: true}}, false},
		{"not met", false, nil, []problem.Pod{{}}, false},
		{"not met, and one pod terminates", false, nil, []problem.Pod{{Ending: true}}, false},
		{"an error", false, failed, nil, false},
	} {
		c := WithoutTerminating(Condition{Met: func(Observation) (bool, error) { return test.met, test.err }})
		if met, err := c.Met(Observation{Report: status.Report{Pods: test.pods}}); met != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: met = %t, error %v", test.what, met, err)
		}
	}
}

func TestConditionDescriptions(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"ready": "to be ready", "create": "to be created", "delete": "to be gone",
		"condition=Ready": "to have the condition Ready", "condition=Ready=true": "to have the condition Ready",
		"condition=Ready=False": "to have the condition Ready=False", "jsonpath={.a}=b": "to have {.a}=b",
	} {
		condition, err := ParseCondition(word)
		if err != nil {
			t.Fatal(err)
		}
		if got := condition.What; got != want {
			t.Errorf("--for=%s: What = %q, want %q", word, got, want)
		}
	}
	for _, word := range []string{"condition=", "condition==", "condition==True", "condition=Ready="} {
		want := fmt.Sprintf("a condition has a name and a value, and %q lacks one: use condition=NAME[=VALUE]", word)
		if _, err := ParseCondition(word); err == nil || err.Error() != want {
			t.Errorf("--for=%s: error %v, want %s", word, err, want)
		}
	}
	if _, err := ParseCondition("none"); err == nil || err.Error() != `cannot wait for "none": must be ready, create, delete, condition=NAME[=VALUE] or jsonpath=EXPRESSION[=VALUE]` {
		t.Errorf("--for=none: unexpected error %v", err)
	}
}

func TestConditionReplaced(t *testing.T) {
	t.Parallel()
	pods := func(uids ...string) (all []problem.Pod) {
		for _, uid := range uids {
			all = append(all, problem.Pod{UID: types.UID(uid)})
		}
		return all
	}
	old := pods("a", "b")
	for _, test := range []struct {
		verdict  status.Verdict
		code     problem.Code
		old, now []problem.Pod
		met      bool
	}{
		{status.Ready, problem.CodeReady, old, pods("c", "d"), true},
		{status.Ready, problem.CodeReady, old, pods("b", "c"), false},
		{status.Progressing, problem.CodePodsStarting, old, pods("c", "d"), false},
		// A changed annotation does not increase the generation, but new pods prove that the controller has seen it.
		{status.Progressing, problem.CodeChangeNotSeen, old, pods("c", "d"), true},
		{status.Progressing, problem.CodeChangeNotSeen, nil, nil, false},
	} {
		o := Observation{Report: status.Report{Verdict: test.verdict, ReasonCode: test.code, Pods: test.now}}
		o.Object = parse(t, "{}")
		condition := Replaced(test.old)
		if met, err := condition.Met(o); met != test.met || err != nil {
			t.Errorf("pods %v, verdict %s: met = %t, error %v", test.now, test.verdict, met, err)
		}
		waits := strings.HasSuffix(condition.Now(o), "; 1 pod not yet replaced")
		if want := test.verdict == status.Ready && !test.met; waits != want {
			t.Errorf("pods %v, verdict %s: Now = %q", test.now, test.verdict, condition.Now(o))
		}
	}
}

// FuzzParseCondition checks that any value of --for results in a condition or an error, and that no condition panics.
func FuzzParseCondition(f *testing.F) {
	for _, word := range []string{"", "ready", "CREATE", "delete", "condition=Ready", "condition=Ready=False", "condition==", "jsonpath={.status.readyReplicas}=3", "jsonpath=", "jsonpath={..}=a"} {
		f.Add(word)
	}
	obj := map[string]any{
		"metadata": map[string]any{"generation": int64(3)},
		"status":   map[string]any{"readyReplicas": int64(3), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}, "odd"}},
	}
	f.Fuzz(func(t *testing.T, word string) {
		condition, err := ParseCondition(word)
		if err != nil {
			return
		}
		if condition.What == "" || condition.Done == "" {
			t.Errorf("--for=%q: What = %q, Done = %q, want both set", word, condition.What, condition.Done)
		}
		var o Observation
		o.Object = &unstructured.Unstructured{Object: obj}
		_, _ = condition.Met(o) // must not panic
	})
}
