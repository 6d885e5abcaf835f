package kinds

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Strategy names one of the ways in which the pods of a kind come about.
type Strategy string

// The strategies. A kind without one is reconciled by somebody else.
const (
	// StrategyPods keeps a number of pods, which the object owns directly.
	StrategyPods Strategy = "pods"
	// StrategyDeployment keeps one Deployment, which has the pods.
	StrategyDeployment Strategy = "deployment"
	// StrategyNodes keeps one pod on every node that may run it.
	StrategyNodes Strategy = "nodes"
)

// strategyRules is what a CRD may declare of a kind of one strategy, and what
// follows from that. How the loop goes about it is in pkg/controller/strategy.
type strategyRules struct {
	name Strategy
	// keeps says what an object does, in the description of a scaffolded CRD.
	keeps string
	// counted says that objects have a replica count.
	counted bool
	// ownsPods says that objects own their pods directly.
	ownsPods bool
	// readSpec reads the annotations that no other strategy has; nil: there are none.
	readSpec func(*declaration, *Mapping)
	// status are the usual fields of the counts.
	status statusCounts
	// rights are those in the namespaces of the objects, clusterRights those to what
	// is in no namespace.
	rights, clusterRights []rbacv1.PolicyRule
}

// statusCounts are the paths at which kinds usually have the counts of a plan.
type statusCounts struct {
	desired, current, updated, ready, available string
}

// strategies are all that there are, in the order in which they are spoken of.
// Whatever differs between them on the side of declarations is here.
func strategies() []strategyRules {
	ofReplicas := statusCounts{
		current: ".status.replicas", updated: ".status.updatedReplicas", ready: ".status.readyReplicas", available: ".status.availableReplicas",
	}
	ofNodes := statusCounts{
		desired: ".status.desiredNumberScheduled", current: ".status.currentNumberScheduled", updated: ".status.updatedNumberScheduled",
		ready: ".status.numberReady", available: ".status.numberAvailable",
	}
	managesPods := rule("", "pods", "get", "list", "watch", "create", "patch", "delete")
	return []strategyRules{
		{
			name: StrategyPods, keeps: "keeps a number of pods.",
			counted: true, ownsPods: true, status: ofReplicas,
			rights: []rbacv1.PolicyRule{managesPods},
		},
		{
			name: StrategyDeployment, keeps: "keeps a Deployment of the same name at a number of replicas.",
			counted: true, status: ofReplicas,
			readSpec: func(d *declaration, r *Mapping) {
				r.DeploymentNamePath = d.wants(AnnotationDeploymentNamePath, "string")
			},
			rights: []rbacv1.PolicyRule{
				rule("", "pods", "list", "watch"),
				rule("apps", "deployments", "get", "list", "watch", "create", "patch", "delete"),
			},
		},
		{
			name: StrategyNodes, keeps: "keeps one pod on each node that may run it, as nodes come and go.",
			ownsPods: true, status: ofNodes,
			rights:        []rbacv1.PolicyRule{managesPods},
			clusterRights: []rbacv1.PolicyRule{rule("", "nodes", "list", "watch")},
		},
	}
}

// Strategies names all strategies, in the order in which they are spoken of.
func Strategies() []Strategy {
	var names []Strategy
	for _, rules := range strategies() {
		names = append(names, rules.name)
	}
	return names
}

// rules are those of a strategy, if there is one of the name.
func (s Strategy) rules() (rules strategyRules, known bool) {
	all := strategies()
	i := slices.IndexFunc(all, func(r strategyRules) bool { return r.name == s })
	if i < 0 {
		return strategyRules{}, false
	}
	return all[i], true
}

// strategyNames lists the strategies in a sentence.
func strategyNames() string {
	var names []string
	for _, name := range Strategies() {
		names = append(names, string(name))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// WithoutReplicas reports whether the objects of a strategy have no replica count.
func (s Strategy) WithoutReplicas() bool {
	rules, known := s.rules()
	return known && !rules.counted
}

// OwnsPods reports whether the objects of a strategy own their pods directly.
func (s Strategy) OwnsPods() bool {
	rules, _ := s.rules()
	return rules.ownsPods
}
