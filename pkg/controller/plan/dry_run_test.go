package plan

import (
	"encoding/json"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

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
		"nothing to do": {view(2, "0 1"), p(false), "nothing to do", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false}`},
		"pods": {view(2, "0 5 6t"), p(true, pod(Delete, "e", Surplus), pod(Delete, "f", Finished), pod(Patch, "c", ""), pod(Patch, "d", ""), pod(Create, "a", ""), pod(Create, "b", "")),
			"2 → 2 pods: create a, b; delete e (surplus); delete f (finished); restore the labels of c, d; write the status",
			`{"pods":2,"desired":2,"create":["a","b"],"delete":[{"name":"e","why":"surplus"},{"name":"f","why":"finished"}],"label":["c","d"],"writeStatus":true}`},
		"moved pod": {view(2, "1 2"), p(false, pod(Try, "a", ""), pod(Delete, "c", Surplus)),
			"2 → 2 pods: delete c (surplus)", `{"pods":2,"desired":2,"create":[],"delete":[{"name":"c","why":"surplus"}],"writeStatus":false}`},
		"apply": {view(2, ""), p(false, Operation{Verb: Create, Kind: KindRevision, Name: "foo-1", Text: "create revision 1"}, Operation{Verb: Apply, Kind: KindDeployment, Name: "web"}),
			"0 → 2 pods: write Deployment web; create revision 1", `{"pods":0,"desired":2,"create":[],"delete":[],"apply":"web","history":"create revision 1","writeStatus":false}`},
		"delete Deployment": {view(2, ""), p(false, Operation{Verb: Delete, Kind: KindDeployment, Name: "old"}),
			"0 → 2 pods: delete Deployment old", `{"pods":0,"desired":2,"create":[],"delete":[],"remove":["old"],"writeStatus":false}`},
		"invalid owner, no status": {invalid, Actions{WriteStatus: true}, "2 → 2 pods: write the status; blocked: no count", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":true,"blocked":"no count"}`},
		"invalid owner":            {invalid, p(false), "blocked: no count", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"no count"}`},
		"name already taken":       {view(2, ""), taken, "0 → 2 pods: blocked: Deployment web already exists", `{"pods":0,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"Deployment web already exists"}`},
		"paused owner":             {paused, p(true), "2 → 2 pods: write the status; blocked: " + paused.Owner.Pause.String(), `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":true,"blocked":"` + paused.Owner.Pause.String() + `"}`},
		"invalid template":         {template, p(false), "blocked: no image", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":false,"blocked":"no image"}`},
		"status only":              {view(2, "0 1"), p(true), "2 → 2 pods: write the status", `{"pods":2,"desired":2,"create":[],"delete":[],"writeStatus":true}`},
	} {
		d := NewDryRun(test.v, test.p)
		if d.String() != test.text {
			t.Errorf("%s: String() = %q, want %q", name, d, test.text)
		}
		text, err := json.Marshal(d)
		if err != nil || string(text) != test.json {
			t.Errorf("%s: JSON %s, error %v; want %s", name, text, err, test.json)
		}
	}
}
