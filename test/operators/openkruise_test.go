package operators

import (
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
	testKinds(t, &operator{
		dir: "kruise", module: "github.com/openkruise/kruise", program: "kruise", crds: "config/crd/bases/*.yaml",
		// Disable the daemon on the nodes, and the webhooks for pods.
		args: []string{"--feature-gates=KruiseDaemon=false,PodWebhook=false"},
		env: []string{
			"WEBHOOK_HOST=" + webhookHost, "WEBHOOK_PORT=" + port,
			"WEBHOOK_CERT_DIR=" + filepath.Join(plane.Dir, "kruise-certificates"),
		},
		prepare: func(t *testing.T, source string) {
			// The two versions of this CRD need conversion. The manager adds the certificate.
			conversion := `{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1","v1beta1"],` +
				`"clientConfig":{"url":"https://` + webhookHost + ":" + port + `/convert"}}}`
			harness.Must(t, plane.Kubectl(t, "", "patch", "crd", "statefulsets.apps.kruise.io", "--type=merge",
				"-p", `{"spec":{"conversion":`+conversion+`}}`))
			installWebhooks(t, source)
		},
		awake:   webhooksAreServed,
		release: removeWebhooks,
	}, cloneSet(), advancedStatefulSet(), advancedDaemonSet(), unitedDeployment())
}

// installWebhooks installs the webhooks for OpenKruise's own objects. The manager replaces their
// clientConfig.service with a loopback URL.
func installWebhooks(t *testing.T, source string) {
	t.Helper()
	manifests := harness.ReadFile(t, filepath.Join(source, "config/webhook/manifests.yaml"))
	for _, manifest := range strings.Split("\n"+manifests, "\n---\n")[1:] {
		obj := harness.Parse(t, manifest)
		obj.SetName("kruise-" + obj.GetName())
		webhooks, _, err := unstructured.NestedSlice(obj.Object, "webhooks")
		if err != nil {
			t.Fatal(err)
		}
		webhooks = slices.DeleteFunc(webhooks, func(w any) bool { return !strings.Contains(fmt.Sprint(w), "kruise.io]") })
		if err := unstructured.SetNestedSlice(obj.Object, webhooks, "webhooks"); err != nil {
			t.Fatal(err)
		}
		resource := harness.Resource(strings.ToLower(obj.GetKind()) + "s.admissionregistration.k8s.io")
		if _, err := plane.Dynamic.Resource(resource).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

const webhookKinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"

// webhooksAreServed reports whether all webhooks have a URL and a CA bundle. The manager sets both when
// it serves the webhooks.
func webhooksAreServed(t *testing.T) bool {
	t.Helper()
	const addresses = `jsonpath={range .items[*].webhooks[*]}{.clientConfig.url} {.clientConfig.caBundle}{"\n"}{end}`
	for line := range strings.Lines(harness.Must(t, plane.Kubectl(t, "", "get", webhookKinds, "-o", addresses))) {
		if len(strings.Fields(line)) != 2 {
			return false
		}
	}
	return true
}

// removeWebhooks removes the webhooks, so that the server accepts objects of OpenKruise while the manager is stopped.
func removeWebhooks(t *testing.T) {
	t.Helper()
	harness.Must(t, plane.Kubectl(t, "", "delete", webhookKinds, "--all"))
}

// kruise returns a kind whose pod template has the same path as in a Deployment.
func kruise(row, version, kindName, plural, rest string) kind {
	return kind{
		row:      row,
		resource: schema.GroupVersionResource{Group: "apps.kruise.io", Version: version, Resource: plural},
		kindName: kindName,
		spec:     webPods + ", " + rest,
		count:    []string{"spec", "replicas"}, few: 2, many: 4,
		image: templateImage,
	}
}

func cloneSet() kind {
	k := kruise("CloneSet", "v1alpha1", "CloneSet", "clonesets", "replicas: COUNT")
	k.settled = counted("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas", "availableReplicas")
	k.hold = hold{
		begin: partition(`{"partition":"50%"}`), held: keeps(2, "updatedReplicas"),
		hint: "lower .spec.updateStrategy.partition", end: `{"spec":{"updateStrategy":{"partition":0}}}`,
	}
	return k
}

func advancedStatefulSet() kind {
	k := kruise("Advanced StatefulSet", "v1beta1", "StatefulSet", "statefulsets", "replicas: COUNT, serviceName: web")
	k.settled = counted("replicas", "readyReplicas", "updatedReplicas")
	k.hold = heldByPartition("updatedReplicas")
	return k
}

func advancedDaemonSet() kind {
	k := kruise("Advanced DaemonSet", "v1alpha1", "DaemonSet", "daemonsets", "updateStrategy: {type: RollingUpdate}")
	k.count, k.few, k.many = nil, 3, 3
	k.settled = counted("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable")
	k.hold = heldByPartition("updatedNumberScheduled")
	const none = "It has no count: there is a pod for each node."
	k.not = map[string]string{"scale": none, "scale --timeout": none, "quota": none, "reverted": none}
	return k
}

func unitedDeployment() kind {
	k := kruise("UnitedDeployment", "v1alpha1", "UnitedDeployment", "uniteddeployments", "")
	k.between = []schema.GroupVersionResource{{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}}
	k.spec = "replicas: COUNT, selector: {matchLabels: {app: web}}, " +
		"template: {cloneSetTemplate: {metadata: {labels: {app: web}}, spec: {" + webPods + "}}}, " +
		`topology: {subsets: [
    {name: a, replicas: 50%, nodeSelectorTerm: {matchExpressions:
      [{key: kubernetes.io/hostname, operator: In, values: [node-0]}]}},
    {name: b, nodeSelectorTerm: {matchExpressions:
      [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}}]}`
	k.settled = counted("replicas", "readyReplicas", "updatedReplicas", "updatedReadyReplicas")
	k.image = func(image string) string {
		return fmt.Sprintf(`{"spec":{"template":{"cloneSetTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}}}}`, image)
	}
	k.unrestarted = "it has no pod template at .spec.template"
	k.instead = "its pod template is that of its subsets, which it would set back."
	k.hold = hold{
		begin: fmt.Sprintf(`{"spec":{"updateStrategy":{"type":"Manual","manualUpdate":{"partitions":{"a":1,"b":1}}},"template":{"cloneSetTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}}}}`, secondImage),
		held:  keeps(2, "updatedReplicas"), hint: ".spec.updateStrategy.manualUpdate.partitions",
		end: `{"spec":{"updateStrategy":{"manualUpdate":{"partitions":{"a":0,"b":0}}}}}`,
	}
	return k
}

// heldByPartition returns a hold that keeps two pods at the first image. updated is the status
// field that counts the updated pods.
func heldByPartition(updated string) hold {
	return hold{
		begin: partition(`{"rollingUpdate":{"partition":2}}`), held: keeps(2, updated),
		hint: "lower .spec.updateStrategy.rollingUpdate.partition",
		end:  `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`,
	}
}

// partition returns a merge patch that sets the second image, and an update strategy that leaves
// some pods at the first image.
func partition(strategy string) string {
	return fmt.Sprintf(`{"spec":{"updateStrategy":%s,"template":{"spec":{"containers":[{"name":"main","image":"%s"}]}}}}`, strategy, secondImage)
}

// counted returns a condition that is met if the controller has observed the latest generation, and
// the given fields of the status match the desired count.
func counted(fields ...string) func(*unstructured.Unstructured, int) error {
	return func(obj *unstructured.Unstructured, desired int) error {
		if seen, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); seen != obj.GetGeneration() {
			return fmt.Errorf("generation %d, observed %d", obj.GetGeneration(), seen)
		}
		for _, field := range fields {
			if n, _, _ := unstructured.NestedInt64(obj.Object, "status", field); int(n) != desired {
				return fmt.Errorf("%s is %d, want %d", field, n, desired)
			}
		}
		return nil
	}
}

// keeps returns a condition that is met if n pods keep the first image, all pods are ready, and the
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
		if reported, _, _ := unstructured.NestedInt64(obj.Object, "status", updated); kept != n || int(reported) != len(own)-n {
			return fmt.Errorf("%d pods have the first image, want %d; the status reports %d updated pods", kept, n, reported)
		}
		return nil
	}
}
