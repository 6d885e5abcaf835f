package check

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// One command that binds a role replaces the commands that grant single rights. If the role is
// missing, a command that installs it comes first.
func TestBindRoles(t *testing.T) {
	t.Parallel()
	needed := []VerbRights{{Verb: "scale", Role: Editor}, {Verb: "status", Role: Viewer}, {Verb: "install"}, {Verb: "run-controller", Role: Controller}}
	failed := func(states ...State) (checks []Result) {
		for _, state := range states {
			result := Result{State: state}
			if state == Failed {
				result.Fix = []string{"as before"}
			}
			checks = append(checks, result)
		}
		return checks
	}
	const bad, good = Failed, Passed
	all := sets.New(Viewer, Editor, Controller)
	for name, test := range map[string]struct {
		checks    []Result
		installed sets.Set[string]
		namespace string
		want      []string
	}{
		"no role": {failed(bad, bad, bad, bad), nil, "ns", []string{
			"kubectl imoocpod install --roles -n ns\nkubectl create rolebinding imoocpod-editor-a-b --clusterrole=imoocpod-editor --user=A:b -n ns",
			"kubectl imoocpod install --roles -n ns\nkubectl create rolebinding imoocpod-editor-a-b --clusterrole=imoocpod-editor --user=A:b -n ns",
			"as before",
			"kubectl imoocpod install --roles -n ns\nkubectl create rolebinding imoocpod-controller-a-b --role=imoocpod-controller --user=A:b -n ns",
		}},
		"no role, everywhere": {failed(good, bad, bad, bad), nil, "", []string{
			"",
			"kubectl imoocpod install --roles\nkubectl create clusterrolebinding imoocpod-viewer-a-b --clusterrole=imoocpod-viewer --user=A:b",
			"as before", "as before",
		}},
		"all roles": {failed(bad, bad, bad, bad), all, "ns", []string{
			"kubectl create rolebinding imoocpod-editor-a-b --clusterrole=imoocpod-editor --user=A:b -n ns",
			"kubectl create rolebinding imoocpod-editor-a-b --clusterrole=imoocpod-editor --user=A:b -n ns",
			"as before",
			"kubectl create rolebinding imoocpod-controller-a-b --role=imoocpod-controller --user=A:b -n ns",
		}},
		"only the viewer role is installed, everywhere": {failed(good, bad, bad, good), sets.New(Viewer), "", []string{
			"", "kubectl create clusterrolebinding imoocpod-viewer-a-b --clusterrole=imoocpod-viewer --user=A:b", "as before", "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Checker{User: "A:b", Namespace: test.namespace}.BindRoles(test.checks, needed, test.installed)
			for i, r := range test.checks {
				if got := strings.Join(r.Fix, "\n"); got != test.want[i] {
					t.Errorf("%s: fix = %q, want %q", needed[i].Verb, got, test.want[i])
				}
			}
		})
	}
	bot := Checker{User: "system:serviceaccount:ci:bot", Namespace: "ns"}
	if got := commandline.Context(nil).Line(bot.bind(Viewer, "clusterrole")); !strings.Contains(got, " --serviceaccount=ci:bot ") {
		t.Errorf("command for a service account = %q, want --serviceaccount=ci:bot", got)
	}
}
