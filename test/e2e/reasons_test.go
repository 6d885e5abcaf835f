package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// The status of an ImoocPod or a built-in kind contains the message with which the scheduler, a quota, or an admission
// plugin of a real server rejects pods.
func TestStatusExplainsRejections(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, namespace string)
		// podSpec holds extra fields of the pod spec.
		podSpec string
		code    problem.Code
		reason  []string
	}{
		"scheduler": {
			func(*testing.T, string) {}, "nodeSelector: {no: such}",
			problem.CodeUnschedulable, []string{"no node fits: 0/", "didn't match Pod's node affinity/selector"},
		},
		"quota": {
			func(t *testing.T, ns string) { quota(t, ns, "0") }, "hostNetwork: false",
			problem.CodeQuotaExceeded, []string{"cannot create more pods: exceeded quota: few"},
		},
		"admission": {
			func(t *testing.T, ns string) {
				harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=baseline"))
			}, "hostNetwork: true",
			problem.CodeAdmissionRefused, []string{`pods are rejected: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			test.prepare(t, ns)
			cluster.StartRunController(t, ns)
			template := "template: {metadata: {labels: {a: b}}, spec: {" + test.podSpec + ", containers: [{name: web, image: web}]}}"
			manifests := []string{harness.ImoocPodManifest("foo", "spec: {replicas: 2, "+template+"}")}
			for _, kind := range []string{"Deployment", "StatefulSet"} {
				manifests = append(manifests, fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, %s}}", kind, template))
			}
			cluster.Apply(t, ns, strings.Join(manifests, "\n---\n"))
			for _, object := range []string{"foo", "deployment/web", "statefulset/web"} {
				harness.Eventually(t, fmt.Sprintf("the status of %s is failed with %s", object, test.code), func() bool {
					var r status.Report
					if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", object, "-o", "json")), &r); err != nil {
						t.Fatal(err)
					}
					met := r.Verdict == status.Failed && r.ReasonCode == test.code
					for _, words := range test.reason {
						met = met && strings.Contains(r.Reason, words)
					}
					return met
				})
			}
		})
	}
}
