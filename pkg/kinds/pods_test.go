package kinds

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// PodSelector returns a selector only if it matches all pods of the object.
func TestPodSelector(t *testing.T) {
	t.Parallel()
	other := kindNamed("sets.example.com")
	const template = "template: {metadata: {labels: {app: web, tier: front}}}"
	for _, test := range []struct {
		what   string
		kind   Kind
		object string
		want   string
	}{
		{"ours", ImoocPod(), "metadata: {uid: u}", apis.LabelOwner + "=u"},
		{"a workload", other, "spec: {selector: {matchLabels: {app: web}}, " + template + "}", "app=web"},
		{"expressions", other, "spec: {selector: {matchExpressions: [{key: app, operator: In, values: [web, shop]}]}, " + template + "}", "app in (shop,web)"},
		{"of something else", other, "spec: {selector: {matchLabels: {app: db}}, " + template + "}", ""},
		{"of nodes", other, "spec: {selector: {disk: fast}, " + template + "}", ""},
		{"everything", other, "spec: {selector: {}, " + template + "}", ""},
		{"text", other, "spec: {selector: app=web, " + template + "}", ""},
		{"not valid", other, "spec: {selector: {matchExpressions: [{key: app, operator: Near}]}, " + template + "}", ""},
		{"without a template", other, "spec: {selector: {matchLabels: {app: web}}}", ""},
		{"nothing", other, "spec: {replicas: 3}", ""},
	} {
		if got := test.kind.PodSelector(object(t, test.object)); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

func TestLabelsPods(t *testing.T) {
	t.Parallel()
	declared := kindNamed("sets.example.com")
	declared.Mapping.Strategy = StrategyPods
	for _, test := range []struct {
		kind Kind
		want bool
	}{{ImoocPod(), true}, {MyDaemonSet(), true}, {AppService(), false}, {declared, false}, {kindNamed(Deployments), false}} {
		if got := test.kind.LabelsPods(); got != test.want {
			t.Errorf("%s: %t", test.kind, got)
		}
	}
}
