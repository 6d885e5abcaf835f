package operators

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// webhookHost is the host at which the API server calls the webhooks of OpenKruise. The manager reads
// it from its environment.
const webhookHost = "localhost"

func TestOpenKruise(t *testing.T) {
	port := freePort(t)
	holdToTheTruth(t, &operator{
		dir: "kruise", module: "github.com/openkruise/kruise", program: "kruise", crds: "config/crd/bases/*.yaml",
		// Disable the daemon on the nodes, and the webhooks for pods.
		args: func() []string { return []string{"--feature-gates=KruiseDaemon=false,PodWebhook=false"} },
		env: func() []string {
			return []string{"WEBHOOK_HOST=" + webhookHost, "WEBHOOK_PORT=" + port, "WEBHOOK_CERT_DIR=" + filepath.Join(plane.Dir, "kruise-certificates")}
		},
		crd: func(crd *unstructured.Unstructured) {
			if crd.GetName() == "statefulsets.apps.kruise.io" {
				// The two versions of this CRD need conversion. The manager adds the certificate.
				conversion := map[string]any{"strategy": "Webhook", "webhook": map[string]any{
					"conversionReviewVersions": []any{"v1", "v1beta1"},
					"clientConfig":             map[string]any{"url": "https://" + webhookHost + ":" + port + "/convert"},
				}}
				_ = unstructured.SetNestedMap(crd.Object, conversion, "spec", "conversion")
			}
		},
		prepare: installWebhooks,
		awake:   webhooksAreServed,
		release: removeWebhooks,
	}, cloneSet(), advancedStatefulSet(), advancedDaemonSet(), unitedDeployment())
}

// installWebhooks installs the webhooks for OpenKruise's own objects. The manager replaces their
// clientConfig.service with a loopback URL.
func installWebhooks(t *testing.T, source string) {
	t.Helper()
	for _, obj := range manifests(t, filepath.Join(source, "config/webhook/manifests.yaml")) {
		obj.SetName("kruise-" + obj.GetName())
		webhooks, _, err := unstructured.NestedSlice(obj.Object, "webhooks")
		if err != nil {
			t.Fatal(err)
		}
		webhooks = slices.DeleteFunc(webhooks, func(w any) bool { return !strings.Contains(fmt.Sprint(w), "kruise.io]") })
		if err := unstructured.SetNestedSlice(obj.Object, webhooks, "webhooks"); err != nil {
			t.Fatal(err)
		}
		create(t, "", obj)
	}
}

// webhooksAreServed returns an error until the manager has set the addresses of the webhooks, which
// it does when it serves them.
func webhooksAreServed(ctx context.Context) error {
	for _, name := range []string{"mutating", "validating"} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: name + "webhookconfigurations"}
		obj, err := plane.Dynamic.Resource(gvr).Get(ctx, "kruise-"+name+"-webhook-configuration", metav1.GetOptions{})
		if err != nil {
			return err
		}
		webhooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
		for _, w := range webhooks {
			webhook, _ := w.(map[string]any)
			if client, _, _ := unstructured.NestedMap(webhook, "clientConfig"); client["url"] == nil || client["caBundle"] == nil {
				return fmt.Errorf("%s has no address of %v", obj.GetName(), w)
			}
		}
	}
	return nil
}

// removeWebhooks removes the webhooks, so that the server accepts objects of OpenKruise while the
// manager is stopped.
func removeWebhooks(t *testing.T) {
	t.Helper()
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if err := plane.Dynamic.Resource(gvr).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// kruise returns a kind whose pod template has the same path as in a Deployment.
func kruise(row, version, kindName, plural, rest string) kind {
	return kind{
		row:      row,
		resource: schema.GroupVersionResource{Group: "apps.kruise.io", Version: version, Resource: plural},
		manifest: func(desired int, image string) string {
			return fmt.Sprintf(`
apiVersion: apps.kruise.io/%s
kind: %s
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "%s"}]}
  %s
`, version, kindName, name, image, strings.ReplaceAll(rest, "COUNT", fmt.Sprint(desired)))
		},
		count: []string{"spec", "replicas"}, few: 2, many: 4,
		image: templateImage,
	}
}

func cloneSet() kind {
	k := kruise("CloneSet", "v1alpha1", "CloneSet", "clonesets", "replicas: COUNT")
	k.settled = counted("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas", "availableReplicas")
	k.hold = hold{
		begin: partition(`{"partition":"50%"}`), held: keeps(2, "updatedReplicas"),
		hint: "lower .spec.updateStrategy.partition", end: `{"spec":{"updateStrategy":{"partition":0}}}`, desired: 4, image: secondImage,
	}
	return k
}

func advancedStatefulSet() kind {
	k := kruise("Advanced StatefulSet", "v1beta1", "StatefulSet", "statefulsets", "replicas: COUNT\n  serviceName: web")
	k.settled = counted("replicas", "readyReplicas", "updatedReplicas")
	k.hold = hold{
		begin: partition(`{"rollingUpdate":{"partition":2}}`), held: keeps(2, "updatedReplicas"),
		hint: "lower .spec.updateStrategy.rollingUpdate.partition", end: `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`, desired: 4, image: secondImage,
	}
	return k
}

func advancedDaemonSet() kind {
	k := kruise("Advanced DaemonSet", "v1alpha1", "DaemonSet", "daemonsets", "updateStrategy: {type: RollingUpdate}")
	k.count, k.few, k.many = nil, 3, 3
	k.settled = counted("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable")
	k.hold = hold{
		begin: partition(`{"rollingUpdate":{"partition":2}}`), held: keeps(2, "updatedNumberScheduled"),
		hint: "lower .spec.updateStrategy.rollingUpdate.partition", end: `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`, desired: 3, image: secondImage,
	}
	const none = "It has no count: there is a pod for each node."
	k.not = map[string]string{"scale": none, "scale --timeout": none, "quota": none, "reverted": none}
	return k
}

func unitedDeployment() kind {
	k := kind{
		row:      "UnitedDeployment",
		resource: schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "uniteddeployments"},
		between:  []schema.GroupVersionResource{{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}},
		manifest: func(desired int, image string) string {
			return fmt.Sprintf(`
apiVersion: apps.kruise.io/v1alpha1
kind: UnitedDeployment
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: web}}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: main, image: "%s"}]}
  topology:
    subsets:
    - {name: a, replicas: 50%%, nodeSelectorTerm: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-0]}]}}
    - {name: b, nodeSelectorTerm: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}}
`, name, desired, image)
		},
		count: []string{"spec", "replicas"}, few: 2, many: 4,
		settled: counted("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas"),
		image: func(image string) string {
			return fmt.Sprintf(`{"spec":{"template":{"cloneSetTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}}}}`, image)
		},
		unrestarted: "it has no pod template at .spec.template",
		instead:     "its pod template is that of its subsets, which it would set back.",
	}
	k.hold = hold{
		begin: fmt.Sprintf(`{"spec":{"updateStrategy":{"type":"Manual","manualUpdate":{"partitions":{"a":1,"b":1}}},"template":{"cloneSetTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}}}}`, secondImage),
		held:  keeps(2, "updatedReplicas"), hint: ".spec.updateStrategy.manualUpdate.partitions",
		end: `{"spec":{"updateStrategy":{"manualUpdate":{"partitions":{"a":0,"b":0}}}}}`, desired: 4, image: secondImage,
	}
	return k
}

// partition returns a merge patch that sets the second image, and an update strategy that leaves
// some pods at the first image.
func partition(strategy string) string {
	return fmt.Sprintf(`{"spec":{"updateStrategy":%s,"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}`, strategy, secondImage)
}

// counted returns a condition that is met if the controller has observed the object, and these
// fields of its status match the desired count.
func counted(fields ...string) func(*unstructured.Unstructured, int) error {
	return func(obj *unstructured.Unstructured, desired int) error {
		if seen, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); seen != obj.GetGeneration() {
			return fmt.Errorf("generation %d, observed %d", obj.GetGeneration(), seen)
		}
		for _, field := range fields {
			if n, _, _ := unstructured.NestedInt64(obj.Object, "status", field); int(n) != desired {
				return fmt.Errorf("%s is %d, not %d", field, n, desired)
			}
		}
		return nil
	}
}

// keeps returns a condition that is met if n pods keep the older image, all pods are ready, and the
// status counts the other pods as updated.
func keeps(n int, updated string) func(*unstructured.Unstructured, []*corev1.Pod) error {
	return func(obj *unstructured.Unstructured, own []*corev1.Pod) error {
		kept := 0
		for _, pod := range own {
			if !harness.IsReady(pod) {
				return fmt.Errorf("pod %s is not ready", pod.Name)
			}
			if runs(pod, firstImage) {
				kept++
			}
		}
		if told, _, _ := unstructured.NestedInt64(obj.Object, "status", updated); kept != n || int(told) != len(own)-n {
			return fmt.Errorf("%d are kept, not %d, and %d are told to be updated", kept, n, told)
		}
		return nil
	}
}
