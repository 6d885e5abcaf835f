package kinds

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func TestPauseSwitch(t *testing.T) {
	t.Parallel()
	other := kindNamed("others.example.com")
	for name, c := range map[string]struct {
		kind   Kind
		schema string
		want   string
	}{
		"Deployment":                  {kindNamed(Deployments), "{}", "spec.paused"},
		"CronJob":                     {kindNamed(CronJobs), "{}", "spec.suspend"},
		"Job":                         {kindNamed(Jobs), "{}", "spec.suspend"},
		"StatefulSet":                 {kindNamed(StatefulSets), "{properties: {spec: {properties: {paused: {type: boolean}}}}}", ""},
		"paused before suspend":       {other, "{properties: {spec: {properties: {paused: {type: boolean}, suspend: {type: boolean}}}}}", "spec.paused"},
		"suspend, paused is a string": {other, "{properties: {spec: {properties: {paused: {type: string}, suspend: {type: boolean}}}}}", "spec.suspend"},
		"in the update strategy":      {other, "{properties: {spec: {properties: {updateStrategy: {properties: {paused: {type: boolean}}}}}}}", "spec.updateStrategy.paused"},
		"no switch":                   {other, "{properties: {spec: {properties: {replicas: {type: integer}}}}}", ""},
		"a spec with unknown fields":  {other, "{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}", ""},
		"a spec that is a map":        {other, "{properties: {spec: {additionalProperties: {type: boolean}}}}", ""},
		"no schema":                   {other, "{}", ""},
		"a switch outside the spec":   {other, "{properties: {paused: {type: boolean}}}", ""},
	} {
		if got := strings.Join(PauseSwitch(c.kind, objects.Parse(t, c.schema)), "."); got != c.want {
			t.Errorf("%s: PauseSwitch = %q, want %q", name, got, c.want)
		}
	}
}
