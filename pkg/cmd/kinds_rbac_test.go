package cmd

import (
	"maps"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The manifests grant exactly the permissions that all shipped kinds together need. They
// grant the permission for the lease in a separate role.
func TestRolesOfKindsAreThoseOfTheManifests(t *testing.T) {
	t.Parallel()
	objs, err := deploy.Controller(deploy.Settings{Namespace: deploy.SystemNamespace, AllNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	var want []rbacv1.PolicyRule
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
	var got []rbacv1.PolicyRule
	for _, kind := range kinds.Shipped() {
		namespaced, clusterwide := kind.Roles()
		got = append(append(got, namespaced.Rules...), clusterwide.Rules...)
	}
	if got, want := rightsIn(got), rightsIn(want); !slices.Equal(got, want) {
		t.Errorf("the kinds need\n%q\nthe manifests give\n%q", got, want)
	}
}

// rightsIn returns the permissions in rules, except for leases, such as "patch /pods".
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
