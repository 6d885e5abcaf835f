package kinds

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Strategy is how run-controller runs the pods of an object.
type Strategy string

// The strategies. Another program reconciles a kind without a strategy.
const (
	StrategyPods       Strategy = "pods"       // runs a number of pods that the object controls directly
	StrategyDeployment Strategy = "deployment" // applies one Deployment, which runs the pods
	StrategyNodes      Strategy = "nodes"      // runs one pod on every eligible node
)

// strategyRules describes the CRDs and the rights of a strategy. pkg/controller/strategy implements the strategies.
type strategyRules struct {
	keeps    string                       // the end of the description of a scaffolded CRD, after the name of the kind
	counted  bool                         // objects have a replica count
	ownsPods bool                         // objects own their pods directly
	readSpec func(*declaration, *Mapping) // reads the annotations that only this strategy has; may be nil
	status   StatusPaths                  // the common paths of status counts
	// rights apply in the namespaces of the objects. clusterRights apply to cluster-scoped objects.
	rights, clusterRights []rbacv1.PolicyRule
}

// strategies returns the rules of all strategies. Everything else in a declaration is independent of its strategy.
func strategies() map[Strategy]strategyRules {
	of := func(field string) []string { return []string{"status", field} }
	ofReplicas := StatusPaths{
		Current: of("replicas"), Updated: of("updatedReplicas"), Ready: of("readyReplicas"), Available: of("availableReplicas"),
	}
	ofNodes := StatusPaths{
		Desired: of("desiredNumberScheduled"), Current: of("currentNumberScheduled"), Updated: of("updatedNumberScheduled"),
		Ready: of("numberReady"), Available: of("numberAvailable"),
	}
	managesPods := rule("", "pods", "get", "list", "watch", "create", "patch", "delete")
	return map[Strategy]strategyRules{
		StrategyPods: {
			keeps:   "keeps a number of pods.",
			counted: true, ownsPods: true, status: ofReplicas,
			rights: []rbacv1.PolicyRule{managesPods},
		},
		StrategyDeployment: {
			keeps:   "keeps a Deployment of the same name at a number of replicas.",
			counted: true, status: ofReplicas,
			readSpec: func(d *declaration, m *Mapping) {
				m.DeploymentNamePath = d.path("spec", AnnotationDeploymentNamePath, "string")
			},
			rights: []rbacv1.PolicyRule{
				rule("", "pods", "list", "watch"),
				rule("apps", "deployments", "get", "list", "watch", "create", "patch", "delete"),
			},
		},
		StrategyNodes: {
			keeps:    "keeps one pod on each node that may run it, as nodes come and go.",
			ownsPods: true, status: ofNodes,
			rights:        []rbacv1.PolicyRule{managesPods},
			clusterRights: []rbacv1.PolicyRule{rule("", "nodes", "list", "watch")},
		},
	}
}

// Strategies returns the names of all strategies, in the order of the documentation.
func Strategies() []Strategy { return []Strategy{StrategyPods, StrategyDeployment, StrategyNodes} }

func (s Strategy) rules() (rules strategyRules, known bool) {
	rules, known = strategies()[s]
	return rules, known
}

func strategyNames() string {
	var names []string
	for _, name := range Strategies() {
		names = append(names, string(name))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// WithoutReplicas reports whether objects with this strategy have no replica count.
func (s Strategy) WithoutReplicas() bool {
	rules, known := s.rules()
	return known && !rules.counted
}

// OwnsPods reports whether objects with this strategy own their pods directly.
func (s Strategy) OwnsPods() bool {
	rules, _ := s.rules()
	return rules.ownsPods
}
