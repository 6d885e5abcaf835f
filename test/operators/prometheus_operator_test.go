package operators

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPrometheusOperator(t *testing.T) {
	testKinds(t, &operator{
		dir: "prometheus-operator", module: "github.com/prometheus-operator/prometheus-operator", program: "operator",
		crds: "example/prometheus-operator-crd/*.yaml",
		args: []string{"--web.listen-address=127.0.0.1:0", "--log-level=warn"},
	}, prometheus(), prometheusAgent(), alertmanager(), thanosRuler())
}

// monitoring returns a kind of the Prometheus operator. The image of the pods is in .spec.image.
func monitoring(row, version, kindName, plural, spec string) kind {
	image := func(image string) string { return fmt.Sprintf(`{"spec":{"image":%q}}`, image) }
	return kind{
		row:      row,
		resource: schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: version, Resource: plural},
		kindName: kindName,
		spec:     "image: IMAGE, " + spec,
		count:    []string{"spec", "replicas"}, few: 1, many: 3,
		settled: reconciled,
		image:   image,
		// The operator owns the template of the StatefulSets, so the plugin must not change it.
		unrestarted: "statefulset.apps/",
		instead:     "it has no pod template; the answer names the StatefulSets that can be restarted.",
		hold: hold{
			begin: fmt.Sprintf(`{"spec":{"paused":true,"image":%q}}`, secondImage),
			held:  pausedByItself, hint: "unset .spec.paused",
			end: `{"spec":{"paused":false}}`,
		},
	}
}

func prometheus() kind {
	k := monitoring("Prometheus", "v1", "Prometheus", "prometheuses",
		"shards: COUNT, replicas: 2, podMetadata: {labels: {app: web}}")
	k.count, k.few, k.many = []string{"spec", "shards"}, 1, 2
	k.podsEach = 2
	k.never0 = true
	k.twoCounts = []string{".spec.shards", ".spec.replicas"}
	return k
}

func prometheusAgent() kind {
	k := monitoring("PrometheusAgent", "v1alpha1", "PrometheusAgent", "prometheusagents", "shards: COUNT, replicas: 1")
	k.count, k.few, k.many = []string{"spec", "shards"}, 1, 3
	k.never0 = true
	return k
}

func alertmanager() kind {
	return monitoring("Alertmanager", "v1", "Alertmanager", "alertmanagers", "replicas: COUNT")
}

func thanosRuler() kind {
	k := monitoring("ThanosRuler", "v1", "ThanosRuler", "thanosrulers",
		"replicas: COUNT, queryEndpoints: [dnssrv+_http._tcp.query], ruleSelector: {}")
	k.scaling = []string{"--replicas-path=.spec.replicas"} // the kind has no /scale
	return k
}

// reconciled returns an error unless the conditions Available and Reconciled are both true for the
// current generation. The operator documents these conditions.
func reconciled(obj *unstructured.Unstructured, _ int) error {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	good := 0
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] != "Available" && c["type"] != "Reconciled" {
			continue
		}
		if c["status"] != "True" || c["observedGeneration"] != obj.GetGeneration() {
			return fmt.Errorf("generation %d, condition %v", obj.GetGeneration(), c)
		}
		good++
	}
	if good != 2 {
		return fmt.Errorf("conditions %v", conditions)
	}
	return nil
}

func pausedByItself(obj *unstructured.Unstructured, _ []*corev1.Pod) error {
	if paused, _, _ := unstructured.NestedBool(obj.Object, "spec", "paused"); !paused {
		return fmt.Errorf(".spec.paused is not true")
	}
	return nil
}
