package deploy

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The namespaced role equals the cluster role without cluster-scoped resources, plus the rules for
// leases. A controller for all namespaces has a separate role for leases.
func TestRolesMatch(t *testing.T) {
	t.Parallel()
	rules := func(file string) []rbacv1.PolicyRule {
		obj := read(file)
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
			t.Errorf("rule %s: a namespaced rule must be in both roles, a rule for nodes only in the cluster role", rule)
		}
	}
	if len(namespaced) != len(cluster)-1+len(lease) {
		t.Errorf("got %d namespaced, %d cluster, and %d lease rules, want namespaced = cluster - 1 + lease", len(namespaced), len(cluster), len(lease))
	}
}

// A controller for all namespaces has a role for leases in kube-system, but shares no object with a controller for
// only kube-system. Otherwise, uninstalling one controller would break the other.
func TestControllersShareNoObject(t *testing.T) {
	t.Parallel()
	key := func(obj *unstructured.Unstructured) string {
		return obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
	}
	cluster := map[string]bool{}
	for _, obj := range Controller(Settings{Namespace: SystemNamespace, AllNamespaces: true}) {
		cluster[key(obj)] = true
	}
	for _, obj := range Controller(Settings{Namespace: "kube-system"}) {
		if cluster[key(obj)] {
			t.Errorf("both controllers have %s", key(obj))
		}
	}
}

// The network policy allows the API server ports of common distributions.
func TestNetworkPolicyAllowsTheAPIServer(t *testing.T) {
	t.Parallel()
	obj := read("controller/network_policy.yaml")
	var policy networkingv1.NetworkPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &policy); err != nil {
		t.Fatal(err)
	}
	allowed := map[int]bool{}
	for _, port := range policy.Spec.Egress[0].Ports {
		allowed[port.Port.IntValue()] = true
	}
	for distribution, port := range map[string]int{"EKS, GKE, AKS": 443, "kubeadm, k3s, kind, OpenShift": 6443, "minikube": 8443, "MicroK8s": 16443} {
		if !allowed[port] {
			t.Errorf("the network policy does not allow egress to port %d (API server of %s)", port, distribution)
		}
	}
}
