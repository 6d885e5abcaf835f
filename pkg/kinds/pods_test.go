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
		{"ImoocPod", ImoocPod(), "metadata: {uid: u}", apis.LabelOwner + "=u"},
		{"matchLabels", other, "spec: {selector: {matchLabels: {app: web}}, " + template + "}", "app=web"},
		{"matchExpressions", other, "spec: {selector: {matchExpressions: [{key: app, operator: In, values: [web, shop]}]}, " + template + "}", "app in (shop,web)"},
		{"selector that does not match the template", other, "spec: {selector: {matchLabels: {app: db}}, " + template + "}", ""},
		{"node selector", other, "spec: {selector: {disk: fast}, " + template + "}", ""},
		{"empty selector", other, "spec: {selector: {}, " + template + "}", ""},
		{"selector as text", other, "spec: {selector: app=web, " + template + "}", ""},
		{"invalid operator", other, "spec: {selector: {matchExpressions: [{key: app, operator: Near}]}, " + template + "}", ""},
		{"selector without a template", other, "spec: {selector: {matchLabels: {app: web}}}", ""},
		{"no selector", other, "spec: {replicas: 3}", ""},
	} {
		if got := test.kind.PodSelector(object(t, test.object)); got != test.want {
			t.Errorf("%s: PodSelector = %q, want %q", test.what, got, test.want)
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
			t.Errorf("LabelsPods of %s = %t, want %t", test.kind, got, test.want)
		}
	}
}
