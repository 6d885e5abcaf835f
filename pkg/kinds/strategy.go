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

// statusCounts are the fields of .status in which kinds usually have what a plan
// counts. One without a name has no usual field.
type statusCounts struct {
	desired, current, updated, ready, available statusCount
}

// statusCount is one of them, with the title and the description of the column
// that a scaffolded CRD has of it, and the description of the field.
type statusCount struct {
	field, title, columnText, description string
}

// scaffolded are those that a scaffolded CRD has, in the order of its columns.
// One without a field is the replica count.
func (c statusCounts) scaffolded() []statusCount {
	return []statusCount{c.desired, c.current, c.updated, c.ready}
}

// path is that of the field from the root of an object, "" where there is none.
func (c statusCount) path() string {
	if c.field == "" {
		return ""
	}
	return ".status." + c.field
}

// strategies are all that there are, in the order in which they are spoken of.
// Whatever differs between them on the side of declarations is here.
func strategies() []strategyRules {
	ofReplicas := statusCounts{
		desired:   statusCount{title: "Desired", columnText: "Desired number of pods."},
		current:   statusCount{"replicas", "Current", "Current number of pods.", "Number of pods, without those that are terminating or finished."},
		updated:   statusCount{"updatedReplicas", "Up-to-date", "Number of pods of the current spec.", "Number of pods of the current spec."},
		ready:     statusCount{"readyReplicas", "Ready", "Number of ready pods.", "Number of ready pods."},
		available: statusCount{field: "availableReplicas"},
	}
	ofNodes := statusCounts{
		desired:   statusCount{"desiredNumberScheduled", "Desired", "Number of nodes that should run the pod.", "Number of nodes that should run the pod."},
		current:   statusCount{"currentNumberScheduled", "Current", "Number of these nodes that have a pod.", "Number of these nodes that have a pod."},
		updated:   statusCount{"updatedNumberScheduled", "Up-to-date", "Number of these nodes that have a pod of the current spec.", "Number of these nodes that have a pod of the current spec."},
		ready:     statusCount{"numberReady", "Ready", "Number of nodes whose pod is ready.", "Number of nodes whose pod is ready."},
		available: statusCount{field: "numberAvailable"},
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
