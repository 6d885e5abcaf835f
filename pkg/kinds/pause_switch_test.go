package kinds

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath/fieldpathtest"
)

func TestPauseSwitch(t *testing.T) {
	kind := func(group, resource string) Kind {
		return Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}
	}
	other := kind("example.com", "others")
	for name, c := range map[string]struct {
		kind   Kind
		schema string
		want   string
	}{
		"Deployment":                       {kind("apps", "deployments"), "{}", "spec.paused"},
		"CronJob":                          {kind("batch", "cronjobs"), "{}", "spec.suspend"},
		"Job":                              {kind("batch", "jobs"), "{}", "spec.suspend"},
		"StatefulSet":                      {kind("apps", "statefulsets"), "{properties: {spec: {properties: {paused: {type: boolean}}}}}", ""},
		"paused":                           {other, "{properties: {spec: {properties: {paused: {type: boolean}, suspend: {type: boolean}}}}}", "spec.paused"},
		"suspend":                          {other, "{properties: {spec: {properties: {paused: {type: string}, suspend: {type: boolean}}}}}", "spec.suspend"},
		"in the update strategy":           {other, "{properties: {spec: {properties: {updateStrategy: {properties: {paused: {type: boolean}}}}}}}", "spec.updateStrategy.paused"},
		"no switch":                        {other, "{properties: {spec: {properties: {replicas: {type: integer}}}}}", ""},
		"a spec that takes anything":       {other, "{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}", ""},
		"no schema":                        {other, "{}", ""},
		"a switch that is not in the spec": {other, "{properties: {paused: {type: boolean}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(PauseSwitch(c.kind, fieldpathtest.Object(t, c.schema)), "."); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
