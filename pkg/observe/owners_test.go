package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The pods of an object are found by a selector only where that is sure to select all.
func TestPodSelector(t *testing.T) {
	t.Parallel()
	other := kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sets"}}
	const template = "template: {metadata: {labels: {app: web, tier: front}}}"
	for _, test := range []struct {
		what   string
		kind   kinds.Kind
		object string
		want   string
	}{
		{"ours", kinds.ImoocPod(), "metadata: {uid: u}", apis.LabelOwner + "=u"},
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
		if got := podSelector(test.kind, parse(t, test.object)); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}
