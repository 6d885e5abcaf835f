package cmd

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The compiled-in mapping of each shipped kind equals the declaration in its CRD.
func TestShippedKindsAreDeclared(t *testing.T) {
	t.Parallel()
	crds := deploy.CRDs()
	shipped := kinds.Shipped()
	for _, crd := range crds {
		declared, err := kinds.Declared(crd)
		if err != nil {
			t.Error(err)
			continue
		}
		i := slices.IndexFunc(shipped, func(k kinds.Kind) bool { return k.CRD() == crd.GetName() })
		if i < 0 {
			t.Errorf("CRD %s is in deploy, but kinds.Shipped has no such kind", crd.GetName())
			continue
		}
		compiled := shipped[i]
		shipped = slices.Delete(shipped, i, i+1)
		compiled.Mapping.Template = nil // only for objects that are older than the template field of the CRD
		if !equality.Semantic.DeepEqual(declared, compiled) {
			t.Errorf("%s: the CRD declares\n%+v\nkinds.Shipped has\n%+v", crd.GetName(), declared, compiled)
		}
	}
	for _, kind := range shipped {
		t.Errorf("kinds.Shipped has %s, but deploy has no such CRD", kind.CRD())
	}
}

// The default pod template is the same in the CRD and in Go. The Go template is only for objects that are
// older than the template field of the CRD.
func TestDefaultTemplateMatchesCRD(t *testing.T) {
	t.Parallel()
	crds := deploy.CRDs()
	i := slices.IndexFunc(crds, func(crd *unstructured.Unstructured) bool { return crd.GetName() == kinds.ImoocPod().CRD() })
	versions, _, err := unstructured.NestedSlice(crds[i].Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("the CRD of ImoocPods has %d versions (error %v), want 1", len(versions), err)
	}
	version, _ := versions[0].(map[string]any)
	fields := fieldpath.Object(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "template", "default")
	var inCRD corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &inCRD); err != nil {
		t.Fatal(err)
	}
	if inGo := v1alpha1.DefaultTemplate(); !equality.Semantic.DeepEqual(&inCRD, inGo) {
		t.Errorf("default template in the CRD:\n%+v\nin Go:\n%+v", inCRD, *inGo)
	}
}

// The manifests grant exactly the permissions that the shipped kinds need. A separate role grants access to leases.
func TestRolesOfKindsMatchManifests(t *testing.T) {
	t.Parallel()
	objs := deploy.Controller(deploy.Settings{Namespace: deploy.SystemNamespace, AllNamespaces: true})
	var got, want []rbacv1.PolicyRule
	for _, obj := range objs {
		var role rbacv1.ClusterRole
		if obj.GetKind() != "ClusterRole" || obj.GetName() != deploy.ControllerName {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			t.Fatal(err)
		}
		want = append(want, role.Rules...)
	}
	for _, kind := range kinds.Shipped() {
		namespaced, clusterwide := kind.Roles()
		got = append(append(got, namespaced.Rules...), clusterwide.Rules...)
	}
	if got, want := rightsIn(got), rightsIn(want); !slices.Equal(got, want) {
		t.Errorf("the kinds need the permissions\n%q\nthe manifests grant\n%q", got, want)
	}
}

// rightsIn returns the permissions in rules, such as "patch /pods". It omits leases.
func rightsIn(rules []rbacv1.PolicyRule) []string {
	all := map[string]bool{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if resource != "leases" {
						all[verb+" "+group+"/"+resource] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
