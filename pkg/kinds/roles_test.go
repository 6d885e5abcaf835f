package kinds

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The roles of a controller allow it to watch the objects of its kind and to write their status. For
// kinds that are not shipped, they also allow it to read CRDs, which contain the declaration.
func TestRolesOfAKind(t *testing.T) {
	t.Parallel()
	has := func(role rbacv1.ClusterRole, group, resource string, verbs ...string) bool {
		return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, []string{group}) && slices.Equal(r.Resources, []string{resource}) && slices.Equal(r.Verbs, verbs)
		})
	}
	widget := kindNamed("widgets.example.com")
	widget.Mapping = ImoocPod().Mapping
	for _, kind := range []Kind{ImoocPod(), widget} {
		namespaced, clusterwide := kind.Roles()
		group, resource := kind.Resource.Group, kind.Resource.Resource
		if !has(namespaced, group, resource, "get", "list", "watch") || !has(namespaced, group, resource+"/status", "patch") {
			t.Errorf("a loop cannot follow %s, or not write their status: %+v", kind.CRD(), namespaced.Rules)
		}
		if reads := has(clusterwide, "apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"); reads == kind.Shipped() {
			t.Errorf("a loop for %s may read CRDs: %t", kind.CRD(), reads)
		}
	}
}
