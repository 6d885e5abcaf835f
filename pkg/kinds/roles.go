package kinds

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Roles returns the RBAC rules of a controller that reconciles only this kind. Bind the first role with a RoleBinding
// for one namespace, or with a ClusterRoleBinding for all namespaces. The second role is for cluster-scoped objects,
// and is empty if the controller reads none. deploy/rbac combines the rules of all shipped kinds.
func (k Kind) Roles() (namespaced, clusterwide rbacv1.ClusterRole) {
	namespaced = clusterRole("imoocpod-" + k.CRD())
	namespaced.Rules = []rbacv1.PolicyRule{
		rule(k.Resource.Group, k.Resource.Resource, "get", "list", "watch"),
		rule(k.Resource.Group, k.Resource.Resource+"/status", "patch"),
		// Owner references with blockOwnerDeletion need this rule if the admission plugin
		// OwnerReferencesPermissionEnforcement is enabled.
		rule(k.Resource.Group, k.Resource.Resource+"/finalizers", "update"),
	}
	rules, _ := k.Mapping.Strategy.rules()
	namespaced.Rules = append(namespaced.Rules, rules.rights...)
	ownLeases := rule("coordination.k8s.io", "leases", "get", "update")
	ownLeases.ResourceNames = k.leases()
	namespaced.Rules = append(namespaced.Rules,
		rule("apps", "controllerrevisions", "get", "list", "watch", "create", "patch", "delete"),
		rule("", "events", "create", "patch"),
		rule("coordination.k8s.io", "leases", "create"),
		ownLeases,
	)

	clusterwide = clusterRole(namespaced.Name + "-cluster")
	if !k.Shipped() {
		clusterwide.Rules = append(clusterwide.Rules, rule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"))
	}
	clusterwide.Rules = append(clusterwide.Rules, rules.clusterRights...)
	return namespaced, clusterwide
}

// leases returns the lease names of controllers for only this kind or for all declared kinds, in one or all namespaces.
func (k Kind) leases() []string {
	var names []string
	for _, namespace := range []string{"one", metav1.NamespaceAll} {
		for _, scope := range []leaserecord.Scope{{Namespace: namespace, Kinds: []string{k.CRD()}}, {Namespace: namespace, Declared: true}} {
			_, name := scope.Lease()
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func clusterRole(name string) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "kubectl-imoocpod"}},
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
