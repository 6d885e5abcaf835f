package kinds

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Every strategy can be scaffolded and declared, and has RBAC rules.
func TestEveryStrategyCanBeDeclared(t *testing.T) {
	if len(Strategies()) != len(strategies()) {
		t.Errorf("Strategies returns %v, which is not every strategy with rules", Strategies())
	}
	for _, name := range Strategies() {
		crd, err := Scaffold{Kind: "Foo", Group: "example.com", Plan: name, Image: "nginx"}.CRD()
		if err != nil {
			t.Errorf("scaffold of %s: %v", name, err)
			continue
		}
		kind, err := Declared(crd)
		if err != nil {
			t.Errorf("declaration of %s: %v", name, err)
			continue
		}
		if kind.Mapping.Strategy != name || kind.Mapping.NameLabel != apis.LabelApp || name.WithoutReplicas() != (kind.ReplicasPath == nil) {
			t.Errorf("%s is declared as %+v", name, kind)
		}
		rules, known := name.rules()
		if !known || len(rules.rights) == 0 || rules.keeps == "" {
			t.Errorf("%s: the rules are incomplete: %+v", name, rules)
		}
		// The controller reads the declaration in the CRD.
		if _, clusterwide := kind.Roles(); !slices.ContainsFunc(clusterwide.Rules, func(r rbacv1.PolicyRule) bool {
			return reflect.DeepEqual(r, rule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"))
		}) {
			t.Errorf("%s: a controller is not allowed to read CRDs: %+v", name, clusterwide.Rules)
		}
	}
}

func TestUnknownStrategy(t *testing.T) {
	for _, name := range []Strategy{"", "jobs"} {
		if rules, known := name.rules(); known || !reflect.DeepEqual(rules, strategyRules{}) || name.WithoutReplicas() || name.OwnsPods() {
			t.Errorf("the unknown strategy %q is treated as known", name)
		}
	}
	if StrategyDeployment.OwnsPods() || !StrategyPods.OwnsPods() {
		t.Error("OwnsPods must be true for pods, and false for deployment")
	}
	if _, err := (Scaffold{Kind: "Foo", Group: "example.com", Plan: "jobs", Image: "nginx"}).CRD(); err == nil ||
		!strings.HasPrefix(err.Error(), `invalid plan "jobs": it must be pods, `) {
		t.Errorf("scaffold with an unknown plan: error %v", err)
	}
}
