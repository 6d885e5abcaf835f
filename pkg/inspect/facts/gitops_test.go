package facts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The writer is the GitOps tool that manages the count. Its message says where a user must change the count.
func TestGitOpsWriter(t *testing.T) {
	t.Parallel()
	const (
		argo    = "managedFields: [{manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]"
		without = "managedFields: [{manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:paused: {}}}}]"
		shop    = "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web'}"
		applied = `kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"replicas":2}}'`
	)
	for _, test := range []struct{ what, metadata, by, message string }{
		{"nobody", "name: web", "", ""},
		{"a person", "managedFields: [{manager: kubectl, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]", "", ""},
		{"Argo CD", argo + "\n" + shop, "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD by label", argo + "\nlabels: {app.kubernetes.io/instance: shop}", "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD, not tracked", argo, "Argo CD", "Argo CD sets its replica count; change it in the source of the Application"},
		{"Argo CD without the count", without + "\n" + shop, "", ""},
		{"Argo CD, applied by a client", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', " + applied + "}", "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD, applied by a client without the count", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', kubectl.kubernetes.io/last-applied-configuration: '{\"spec\":{}}'}", "", ""},
		{"Argo CD, applied by a client with nonsense", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', kubectl.kubernetes.io/last-applied-configuration: '{\"spec\":1}'}", "", ""},
		{"a person, applied by a client", "annotations: {" + applied + "}\nlabels: {app.kubernetes.io/instance: shop}", "", ""},
		{"Flux", "managedFields: [{manager: kustomize-controller, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]\nlabels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}",
			"Kustomization/apps", "Flux sets its replica count; change it in the source of the Kustomization flux-system/apps"},
		{"Helm by Flux", "managedFields: [{manager: helm-controller, operation: Update, fieldsV1: {f:spec: {f:replicas: {}}}}]\nlabels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop}",
			"HelmRelease/web", "Flux sets its replica count; change it in the values of the HelmRelease shop/web"},
		{"Flux without the count", "labels: {kustomize.toolkit.fluxcd.io/name: apps}", "", ""},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": parsed(t, test.metadata), "spec": map[string]any{"replicas": int64(2), "paused": true}}}
		got := gitOpsWriter(obj, ".spec.replicas")
		switch {
		case test.by == "" && got != nil:
			t.Errorf("%s: %+v", test.what, got)
		case test.by != "" && (got == nil || got.By != test.by || got.Message != test.message):
			t.Errorf("%s: %+v, want %s: %s", test.what, got, test.by, test.message)
		}
		if got := gitOpsWriter(obj, ".spec["); got != nil {
			t.Errorf("%s: where the path is none: %+v", test.what, got)
		}
		if got := gitOpsWriter(obj, ""); got != nil {
			t.Errorf("%s: where no count is known: %+v", test.what, got)
		}
	}
}
