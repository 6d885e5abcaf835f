package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// scale warns about an object that Flux applies from a Kustomization or a HelmRelease,
// and names the place to change its count. It does not warn if Flux does not set the
// count.
func TestWarnsOfFlux(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const uncounted = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: free, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}},
  spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: main, image: web}]}}}}`
	imoocpod := "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 2}}"
	for _, row := range []struct{ target, manifest, manager, labels, warning string }{
		{"deployment/web", workload("Deployment", "web", 2), "kustomize-controller", "kustomize.toolkit.fluxcd.io/name=apps kustomize.toolkit.fluxcd.io/namespace=flux-system",
			"Flux sets its replica count; change it in the source of the Kustomization flux-system/apps"},
		{"statefulset/db", workload("StatefulSet", "db", 2), "helm-controller", "helm.toolkit.fluxcd.io/name=db helm.toolkit.fluxcd.io/namespace=shop",
			"Flux sets its replica count; change it in the values of the HelmRelease shop/db"},
		{"imoocpod/foo", imoocpod, "kustomize-controller", "kustomize.toolkit.fluxcd.io/name=apps kustomize.toolkit.fluxcd.io/namespace=flux-system",
			"Flux sets its replica count; change it in the source of the Kustomization flux-system/apps"},
		{"deployment/free", uncounted, "kustomize-controller", "", ""},
	} {
		harness.Must(t, cluster.Kubectl(t, ns, "apply", "--server-side", "--field-manager="+row.manager, "-f", harness.WriteFile(t, row.manifest)))
		if row.labels != "" {
			harness.Must(t, cluster.Kubectl(t, ns, append([]string{"label", row.target}, harness.Words(row.labels)...)...))
		}
		for _, args := range []string{"scale " + row.target + " --replicas 3 --dry-run=server --wait", "park " + row.target + " --dry-run=server"} {
			r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
			line := "Warning: " + row.target + ": " + row.warning + "\n"
			if harness.Must(t, r); row.warning != "" && !strings.Contains(r.Stderr, line) || row.warning == "" && strings.Contains(r.Stderr, "Flux") {
				t.Errorf("%s: said %q, want %q", r.Line, r.Stderr, line)
			}
		}
		if row.warning == "" {
			continue
		}
		// After a scale, the plugin manages the count, but Flux will still revert it.
		if r := cluster.Kubectl(t, ns, "imoocpod", "status", row.target, "-o", "json"); !strings.Contains(harness.Must(t, r), row.warning) {
			t.Errorf("%s does not tell of Flux:\n%s", r.Line, r.Stdout)
		}
	}
}
