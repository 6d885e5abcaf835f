package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

func TestChildSelector(t *testing.T) {
	t.Parallel()
	replicaSets := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	deployments, statefulSets := kinds.Kind{Resource: appsv1.SchemeGroupVersion.WithResource("deployments")}, kinds.Kind{Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets")}
	obj := &unstructured.Unstructured{Object: objects.Parse(t, "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}")}
	others := kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "deployments"}}
	for _, test := range []struct {
		what  string
		kind  kinds.Kind
		child schema.GroupVersionKind
		want  string
	}{
		{"a ReplicaSet of a Deployment", deployments, replicaSets, "app=web"},
		{"another child of a Deployment", deployments, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, ""},
		{"a ReplicaSet of a StatefulSet", statefulSets, replicaSets, ""},
		{"a ReplicaSet of a Deployment of another API group", others, replicaSets, ""},
	} {
		m := &model{Feeds: &feeds.Feeds{}, target: Target{Kind: test.kind}, object: obj}
		if got := m.childSelector(test.child); got != test.want {
			t.Errorf("%s: selector %q, want %q", test.what, got, test.want)
		}
	}
}
