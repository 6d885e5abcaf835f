package operators

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestArgoRollouts(t *testing.T) {
	testKinds(t, &operator{
		dir: "argo-rollouts", module: "github.com/argoproj/argo-rollouts", program: "rollouts-controller", crds: "manifests/crds/*-crd.yaml",
		// By default, the operator listens on all addresses. With invalid ports, it works without listening.
		args: []string{
			"--kubeconfig=" + plane.Kubeconfig, "--leader-elect=false", "--metricsPort=-1", "--healthzPort=-1", "--loglevel=warn",
		},
	}, canary(), blueGreen())
}

// rollout returns the spec of a Rollout with a strategy.
func rollout(strategy string) string {
	return "replicas: COUNT, " + webPods + ", strategy: " + strategy
}

func canary() kind {
	return kind{
		row:      "Rollout, canary",
		resource: schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"},
		kindName: "Rollout",
		spec:     rollout("{canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 50}, {pause: {duration: 1s}}]}}"),
		count:    []string{"spec", "replicas"}, few: 2, many: 4,
		settled: healthyRollout,
		image:   templateImage,
		hold: hold{
			spec:  rollout("{canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 50}, {pause: {}}]}}"),
			begin: templateImage(secondImage), held: pausedRollout, hint: "kubectl argo rollouts promote " + name,
			end: `{"status":{"pauseConditions":null}}`, ofStatus: true,
		},
	}
}

func blueGreen() kind {
	k := canary()
	k.row = "Rollout, blue-green"
	k.service = "{apiVersion: v1, kind: Service, metadata: {name: active}, spec: {selector: {app: web}, ports: [{port: 80}]}}"
	k.spec = rollout("{blueGreen: {activeService: active, scaleDownDelaySeconds: 3}}")
	k.hold.spec = rollout("{blueGreen: {activeService: active, autoPromotionEnabled: false, scaleDownDelaySeconds: 3}}")
	// Ignore the pods of the previous version, which are kept for some time for a rollback.
	k.mattering = func(own []*corev1.Pod, obj *unstructured.Unstructured) []*corev1.Pod {
		hash, _, _ := unstructured.NestedString(obj.Object, "status", "currentPodHash")
		var current []*corev1.Pod
		for _, pod := range own {
			if pod.Labels["rollouts-pod-template-hash"] == hash {
				current = append(current, pod)
			}
		}
		return current
	}
	return k
}

// healthyRollout returns an error unless "kubectl argo rollouts status" would succeed.
func healthyRollout(obj *unstructured.Unstructured, _ int) error {
	seen, _, _ := unstructured.NestedString(obj.Object, "status", "observedGeneration")
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	if seen != strconv.FormatInt(obj.GetGeneration(), 10) || phase != "Healthy" {
		return fmt.Errorf("phase %s, generation %d, observed %s", phase, obj.GetGeneration(), seen)
	}
	return nil
}

func pausedRollout(obj *unstructured.Unstructured, _ []*corev1.Pod) error {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "pauseConditions")
	if phase != "Paused" || len(conditions) == 0 {
		return fmt.Errorf("phase %s, pause conditions %v", phase, conditions)
	}
	return nil
}

func templateImage(image string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}`, image)
}
