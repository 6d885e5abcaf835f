package deploy

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The namespaced role is the cluster role without what is in no namespace, and
// with the lease, which the other form has elsewhere.
func TestRolesSayTheSame(t *testing.T) {
	t.Parallel()
	rules := func(file string) []rbacv1.PolicyRule {
		obj, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			t.Fatal(err)
		}
		return role.Rules
	}
	has := func(list []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(list, func(r rbacv1.PolicyRule) bool { return r.String() == rule.String() })
	}
	cluster, lease, namespaced := rules("rbac/cluster/role.yaml"), rules("rbac/cluster/lease_role.yaml"), rules("rbac/namespaced/role.yaml")
	for _, rule := range cluster {
		everywhere := slices.Contains(rule.Resources, "nodes")
		if has(namespaced, rule) == everywhere {
			t.Errorf("the namespaced role and the cluster role do not agree on %s", rule)
		}
	}
	if len(namespaced) != len(cluster)-1+len(lease) {
		t.Errorf("the namespaced role has %d rules, the cluster role %d and that of the lease %d", len(namespaced), len(cluster), len(lease))
	}
}
