package plan

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// If a deletion or the restoring of labels fails, later operations are still executed. Any other failure
// stops the plan.
func TestOptionalOperations(t *testing.T) {
	pods := view(2, "0u 5")
	old := with(deployment(3, "nginx"), func(d *Deployment) { d.Name, d.UID = "old", "o" })
	history := View{HistoryKnown: true, Revisions: revisions("a1 b2 c3"), Owner: Owner{Name: "foo", UID: uid, TemplateHash: templateOf("a")}}
	for name, p := range map[string]Actions{
		"pods": Pods(pods), "too many pods": Pods(view(0, "0 1")), "a Deployment": Deployments(deploymentView(3)),
		"another Deployment": Deployments(deploymentView(3, old, deployment(3, "nginx"))), "revisions": {Operations: Revisions(history)},
		"the first revision": {Operations: Revisions(View{HistoryKnown: true, Owner: history.Owner})},
	} {
		if !p.Writes() {
			t.Errorf("%s: nothing is planned", name)
		}
		for _, o := range p.Operations {
			if want := o.Verb == Delete || o.Verb == Patch && o.Kind == KindPod; o.Optional != want {
				t.Errorf("%s: %s is optional: %t, want %t", name, o, o.Optional, want)
			}
		}
	}
}

func TestDryRun(t *testing.T) {
	p := func(status bool, operations ...Operation) Actions {
		return Actions{Operations: operations, Status: Status{Desired: 2}, WriteStatus: status}
	}
	pod := func(verb Verb, name string, why Reason) Operation {
		return Operation{Verb: verb, Kind: KindPod, Name: name, Reason: why}
	}
	paused, invalid, taken := view(2, "0 1"), view(2, "0 1"), p(false)
	paused.Owner.Pause, invalid.Owner.Invalid, taken.NameTaken = apis.Pause{Forever: true}, "no count", "Deployment web already exists"
	template := view(2, "0 1")
	template.Owner.Problem = "no image"
	for name, test := range map[string]struct {
		v    View
		p    Actions
		text string
		json string
	}{
		"nothing": {view(2, "0 1"), p(false), "nothing to do", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false}`},
		"pods": {view(2, "0 5 6t"), p(true, pod(Delete, "e", Surplus), pod(Delete, "f", Finished), pod(Patch, "c", ""), pod(Patch, "d", ""), pod(Create, "a", ""), pod(Create, "b", "")),
			"2 → 2 pods: create a, b; delete e (surplus); delete f (finished); restore the labels of c, d; write the status",
			`{"pods":2,"desired":2,"create":["a","b"],"delete":[{"name":"e","why":"surplus"},{"name":"f","why":"finished"}],"label":["c","d"],"writeStatus":true}`},
		"a Deployment": {view(2, ""), p(false, Operation{Verb: Create, Kind: KindRevision, Name: "foo-1", Text: "create revision 1"}, Operation{Verb: Apply, Kind: KindDeployment, Name: "web"}),
			"0 → 2 pods: write Deployment web; create revision 1", `{"pods":0,"desired":2,"create":[],"delete":[],"apply":"web","history":"create revision 1","writeStatus":false}`},
		"another Deployment": {view(2, ""), p(false, Operation{Verb: Delete, Kind: KindDeployment, Name: "old"}),
			"0 → 2 pods: delete Deployment old", `{"pods":0,"desired":2,"create":[],"delete":[],"remove":["old"],"writeStatus":false}`},
		"invalid":                   {invalid, p(false), "blocked: no count", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"no count"}`},
		"a name that is taken":      {view(2, ""), taken, "0 → 2 pods: blocked: Deployment web already exists", `{"pods":0,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"Deployment web already exists"}`},
		"paused":                    {paused, p(true), "2 → 2 pods: write the status; blocked: " + paused.Owner.Pause.String(), `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":true,"blocked":"` + paused.Owner.Pause.String() + `"}`},
		"a template that is broken": {template, p(false), "blocked: no image", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"no image"}`},
		"only the status":           {view(2, "0 1"), p(true), "2 → 2 pods: write the status", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":true}`},
	} {
		d := NewDryRun(test.v, test.p)
		if d.String() != test.text {
			t.Errorf("%s: %q, want %q", name, d, test.text)
		}
		text, err := json.Marshal(d)
		if err != nil || string(text) != test.json {
			t.Errorf("%s: %s (%v), want %s", name, text, err, test.json)
		}
	}
}

func TestReady(t *testing.T) {
	ready := metav1.Condition{Type: apis.ConditionReady, Status: metav1.ConditionTrue}
	waiting := metav1.Condition{Type: apis.ConditionReady, Status: metav1.ConditionFalse}
	deleting := view(2, "")
	deleting.Owner.Deleting = true
	for name, test := range map[string]struct {
		v          View
		p          Actions
		conditions []metav1.Condition
		want       bool
	}{
		"it has all":              {view(2, ""), Actions{}, []metav1.Condition{ready}, true},
		"something is left to do": {view(2, ""), Actions{Operations: make([]Operation, 1)}, []metav1.Condition{ready}, false},
		"a pod is missing":        {view(2, ""), Actions{}, []metav1.Condition{waiting}, false},
		"it is being deleted":     {deleting, Actions{}, nil, true},
		"without a condition":     {view(2, ""), Actions{}, nil, false},
	} {
		test.p.Status.Conditions = test.conditions
		if got := test.p.Ready(test.v); got != test.want {
			t.Errorf("%s: ready %t, want %t", name, got, test.want)
		}
	}
}
