package facts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// gitOpsWriter returns the GitOps tool that manages the count, and a message about where to change the count.
func TestGitOpsWriter(t *testing.T) {
	t.Parallel()
	const (
		argo    = "managedFields: [{manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]"
		without = "managedFields: [{manager: argocd-controller, operation: Apply, fieldsV1: {f:spec: {f:paused: {}}}}]"
		shop    = "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web'}"
		applied = `kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"replicas":2}}'`
	)
	for _, test := range []struct{ name, metadata, by, message string }{
		{"no manager", "name: web", "", ""},
		{"server-side apply by a user", "managedFields: [{manager: kubectl, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]", "", ""},
		{"Argo CD", argo + "\n" + shop, "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD by label", argo + "\nlabels: {app.kubernetes.io/instance: shop}", "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD, no tracking ID", argo, "Argo CD", "Argo CD sets its replica count; change it in the source of the Application"},
		{"Argo CD, count not managed", without + "\n" + shop, "", ""},
		{"Argo CD, client-side apply", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', " + applied + "}", "Application/shop", "Argo CD sets its replica count; change it in the source of the Application shop"},
		{"Argo CD, client-side apply without the count", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', kubectl.kubernetes.io/last-applied-configuration: '{\"spec\":{}}'}", "", ""},
		{"Argo CD, client-side apply, invalid spec", "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:default/web', kubectl.kubernetes.io/last-applied-configuration: '{\"spec\":1}'}", "", ""},
		{"client-side apply by a user", "annotations: {" + applied + "}\nlabels: {app.kubernetes.io/instance: shop}", "", ""},
		{"Flux", "managedFields: [{manager: kustomize-controller, operation: Apply, fieldsV1: {f:spec: {f:replicas: {}}}}]\nlabels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}",
			"Kustomization/apps", "Flux sets its replica count; change it in the source of the Kustomization flux-system/apps"},
		{"Flux, Helm", "managedFields: [{manager: helm-controller, operation: Update, fieldsV1: {f:spec: {f:replicas: {}}}}]\nlabels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop}",
			"HelmRelease/web", "Flux sets its replica count; change it in the values of the HelmRelease shop/web"},
		{"Flux, count not managed", "managedFields: [{manager: kustomize-controller, operation: Apply, fieldsV1: {f:spec: {f:paused: {}}}}]\nlabels: {kustomize.toolkit.fluxcd.io/name: apps}", "", ""},
		{"Flux, label only", "labels: {kustomize.toolkit.fluxcd.io/name: apps}", "", ""},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": parsed(t, test.metadata), "spec": map[string]any{"replicas": int64(2), "paused": true}}}
		got := gitOpsWriter(obj, ".spec.replicas")
		switch {
		case test.by == "" && got != nil:
			t.Errorf("%s: writer = %+v, want none", test.name, got)
		case test.by != "" && (got == nil || got.By != test.by || got.Message != test.message):
			t.Errorf("%s: writer = %+v, want %s: %s", test.name, got, test.by, test.message)
		}
		if got := gitOpsWriter(obj, ".spec["); got != nil {
			t.Errorf("%s: writer for an invalid path = %+v, want none", test.name, got)
		}
		if got := gitOpsWriter(obj, ""); got != nil {
			t.Errorf("%s: writer without a path = %+v, want none", test.name, got)
		}
	}
}
