package facts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
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
			t.Errorf("timedPause(%s) = %t, want %t", text, got, want)
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
		"parked":                {`{"replicas":5,"path":".spec.size"}`, int64(0), true, true},
		"scaled afterwards":     {`{"replicas":5,"path":".spec.size"}`, int64(2), true, false},
		"no such field":         {`{"replicas":5,"path":".spec.other"}`, int64(0), true, false},
		"field is not a number": {`{"replicas":5,"path":".spec.size"}`, "none", true, false},
		"invalid path":          {`{"replicas":5,"path":".spec["}`, int64(0), false, false},
		"invalid JSON":          {`five`, int64(0), false, false},
		"not parked":            {"", int64(0), false, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": test.size}}}
		if test.annotation != "" {
			obj.SetAnnotations(map[string]string{"imoocpod.dev/parked": test.annotation})
		}
		_, path, _ := Parked(obj)
		if count := parked(obj); (path != nil) != test.path || (count != nil) != test.still || count != nil && count.Replicas != 5 {
			t.Errorf("%s: path = %v, parked count = %+v; want a path: %t, a count: %t", name, path, count, test.path, test.still)
		}
	}
}

// The phase and the message each come from the first of several fields that is not empty.
func TestReadWord(t *testing.T) {
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
			t.Errorf("status %s: Word = %+v, want %+v", text, o.Word, want)
		}
	}
}
