package facts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// An Argo Rollout that continues by itself is not paused.
func TestTimedPause(t *testing.T) {
	t.Parallel()
	const steps = "strategy: {canary: {steps: [{setWeight: 20}, {pause: {duration: 1h}}, {pause: {}}]}}"
	for text, want := range map[string]bool{
		"{spec: {strategy: {blueGreen: {autoPromotionSeconds: 30}}}}":               true,
		"{spec: {strategy: {blueGreen: {autoPromotionSeconds: 30}}, paused: true}}": false,
		"{spec: {strategy: {blueGreen: {autoPromotionSeconds: 0}}}}":                false,
		"{spec: {" + steps + "}}":                                                                         false,
		"{spec: {" + steps + "}, status: {currentStepIndex: -1}}":                                         false,
		"{spec: {" + steps + "}, status: {currentStepIndex: 0}}":                                          false,
		"{spec: {strategy: {canary: {steps: [{pause: {duration: 1h}}]}}}, status: {currentStepIndex: 0}}": true,
		"{spec: {" + steps + "}, status: {currentStepIndex: 1}}":                                          true,
		"{spec: {" + steps + ", paused: true}, status: {currentStepIndex: 1}}":                            false,
		"{spec: {" + steps + "}, status: {currentStepIndex: 2}}":                                          false,
		"{spec: {" + steps + "}, status: {currentStepIndex: 3}}":                                          false,
	} {
		if got := timedPause(readObject(t, "{kind: Rollout, "+text[1:]).Object); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// A condition counts as a pause only if no annotation names another status field for pauses. A partition or a
// strategy pauses an object only while it keeps pods of an older template.
func TestPauses(t *testing.T) {
	t.Parallel()
	const count = "{type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}, status: {type: object, properties: {replicas: {type: integer}, readyReplicas: {type: integer}, updatedReplicas: {type: integer}, paused: {type: boolean}, phase: {type: string}}}}}"
	told := func(condition string) string { return "status: {conditions: [" + condition + "]}" }
	wrote := func(manager, fields string) string {
		return "{manager: " + manager + ", operation: Update, fieldsType: FieldsV1, fieldsV1: {" + fields + "}}"
	}
	status3 := func(ready, updated string) string {
		return "status: {replicas: 3, readyReplicas: " + ready + ", updatedReplicas: " + updated + "}"
	}
	for name, test := range map[string]struct {
		text        string
		annotations map[string]string
		why         string
	}{
		"nothing":                           {"spec: {replicas: 3}", nil, ""},
		"a condition":                       {told("{type: Paused, status: 'True', reason: R, message: m}"), nil, "it is paused: R: m"},
		"a condition after another":         {told("{type: Ready, status: 'True'}, {type: ReconciliationPaused, status: 'True', reason: R}"), nil, "it is paused: R"},
		"a condition that is not":           {told("{type: Paused, status: 'False', reason: R}"), nil, ""},
		"a condition, told elsewhere":       {told("{type: Paused, status: 'True', reason: R}"), map[string]string{"imoocpod.dev/paused-when": "{.status.paused}=true"}, ""},
		"a condition, and a step that ends": {told("{type: Paused, status: 'True', reason: R}") + ", spec: {strategy: {blueGreen: {autoPromotionSeconds: 30}}}", nil, ""},
		"a condition without words":         {told("{type: Paused, status: 'True'}"), nil, "it is paused: its condition Paused is True"},
		"a phase":                           {"status: {phase: Suspended}", nil, "it is paused: its controller reports: Suspended"},
		"a field":                           {"spec: {paused: true}", nil, "it is paused: {.spec.paused}=true"},
		"a field, by someone":               {"spec: {paused: true}, metadata: {annotations: {imoocpod.dev/paused-by: alice, imoocpod.dev/paused-reason: INC-7}}", nil, "it is paused by alice: INC-7"},
		"a field, by someone before":        {"spec: {paused: true}, metadata: {annotations: {imoocpod.dev/paused-by: alice}, managedFields: [" + wrote("a", `"f:metadata": {"f:annotations": {"f:imoocpod.dev/paused-by": {}}}`) + "," + wrote("b", `"f:spec": {"f:paused": {}}`) + "]}", nil, "it is paused: {.spec.paused}=true"},
		"a field, and a word":               {"spec: {paused: true}, status: {message: someone did}", nil, "it is paused: someone did"},
		"a rollout":                         {"spec: {updateStrategy: {paused: true}}", nil, "its rollout is paused: .spec.updateStrategy.paused is true"},
		"on delete, one to replace":         {"spec: {replicas: 3, updateStrategy: {type: OnDelete}}, " + status3("3", "2"), nil, "its strategy is OnDelete"},
		"on delete, none to replace":        {"spec: {replicas: 3, updateStrategy: {type: OnDelete}}, " + status3("3", "3"), nil, ""},
		"on delete, one not ready":          {"spec: {replicas: 3, updateStrategy: {type: OnDelete}}, " + status3("2", "2"), nil, ""},
		"a partition is reached":            {"spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 1}}}, " + status3("3", "2"), nil, ".spec.updateStrategy.rollingUpdate.partition keeps 1 pods of the older template"},
		"a partition, one more to replace":  {"spec: {replicas: 3, updateStrategy: {partition: 1}}, " + status3("3", "1"), nil, ""},
		"a partition of none":               {"spec: {replicas: 3, updateStrategy: {partition: 0}}, " + status3("3", "2"), nil, ""},
		"a share":                           {"spec: {replicas: 3, updateStrategy: {partition: 99%}}, " + status3("3", "1"), nil, ".spec.updateStrategy.partition keeps 2 pods of the older template"},
		"all":                               {"spec: {replicas: 3, updateStrategy: {partition: 100%}}, " + status3("3", "0"), nil, ".spec.updateStrategy.partition keeps 3 pods of the older template"},
	} {
		obj := readObject(t, "{apiVersion: example.com/v1, kind: Lamp, metadata: {name: it, generation: 1}, "+test.text+"}")
		source := kinds.Source{Schema: parsed(t, count), StatusServed: true, Annotations: test.annotations}
		o := settled(t, kindNamed("lamps.example.com", "Lamp"), source, ".spec.replicas", obj)
		why := ""
		if o.Pause != nil {
			why = o.Pause.Why
		}
		if why != test.why {
			t.Errorf("%s: %q, want %q", name, why, test.why)
		}
	}
}

// A parked count is valid only while the field is zero.
func TestParked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotation  string
		size        any
		path, still bool
	}{
		"parked":            {`{"replicas":5,"path":".spec.size"}`, int64(0), true, true},
		"scaled since":      {`{"replicas":5,"path":".spec.size"}`, int64(2), true, false},
		"the field is away": {`{"replicas":5,"path":".spec.other"}`, int64(0), true, false},
		"no count any more": {`{"replicas":5,"path":".spec.size"}`, "none", true, false},
		"no path":           {`{"replicas":5,"path":".spec["}`, int64(0), false, false},
		"nonsense":          {`five`, int64(0), false, false},
		"not parked":        {"", int64(0), false, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": test.size}}}
		if test.annotation != "" {
			obj.SetAnnotations(map[string]string{"imoocpod.dev/parked": test.annotation})
		}
		_, path, _ := Parked(obj)
		if count := parked(obj); (path != nil) != test.path || (count != nil) != test.still || count != nil && count.Replicas != 5 {
			t.Errorf("%s: %v, %+v", name, path, count)
		}
	}
}

// The phase and the message each come from the first of several fields that is not empty.
func TestWordOfAController(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]status.Word{
		"{}": {},
		"{phase: Up, state: Down, message: all well, reason: none}": {Phase: "Up", Message: "all well"},
		"{phase: '', state: Degraded}":                              {Phase: "Degraded"},
		"{phase: 7, state: FAILED, reason: why}":                    {Phase: "FAILED", Message: "why"},
		"{phase: Error}":                                            {Phase: "Error"},
		"{phase: Scaling Up}":                                       {Phase: "Scaling Up"},
		"{phase: in-progress}":                                      {Phase: "in-progress"},
	} {
		var o status.Object
		if readWord(&o, map[string]any{"status": parsed(t, text)}); o.Word != want {
			t.Errorf("%s: %+v, want %+v", text, o.Word, want)
		}
	}
}
