package doctor

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A rule stands for each of its verbs on each of its resources.
func TestRightsOf(t *testing.T) {
	t.Parallel()
	got := rightsOf("ns", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/scale"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"web"}})
	want := []check.Right{
		{Verb: "get", Group: "apps", Resource: "deployments", Name: "web", Namespace: "ns"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Name: "web", Namespace: "ns"},
		{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web", Namespace: "ns"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web", Namespace: "ns"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if all := rightsOf("", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}); !slices.Equal(all, []check.Right{{Verb: "list", Resource: "pods"}}) {
		t.Errorf("without names it is %+v", all)
	}
}

// A verb passes with all of its rights, fails without one, and nobody knows where the
// server does not say.
func TestCheckRights(t *testing.T) {
	t.Parallel()
	get, list := check.Right{Verb: "get", Resource: "pods"}, check.Right{Verb: "list", Resource: "pods"}
	needed := []verbRights{{verb: "status", rights: []check.Right{get, list}}}
	for name, test := range map[string]struct {
		get, list *bool
		want      check.State
	}{
		"has all":     {new(true), new(true), check.Passed},
		"lacks one":   {new(true), new(false), check.Failed},
		"lacks all":   {new(false), new(false), check.Failed},
		"is not told": {new(true), nil, check.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := (&Doctor{Namespace: "ns", user: "jane", served: kinds.Shipped()}).checkRights(needed, map[check.Right]*bool{get: test.get, list: test.list})
			if len(checks) != 1 || checks[0].State != test.want || checks[0].Name != "permission to status" {
				t.Errorf("got %+v, want %s", checks, test.want)
			}
		})
	}
}

// What run-controller may do is asked one by one, in a namespace and in all.
func TestNeededRights(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"ns", ""} {
		needed, err := neededRights(namespace, kinds.Shipped())
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range needed {
			if len(verb.rights) == 0 {
				t.Errorf("in %q, %s needs no right", namespace, verb.verb)
			}
			for _, right := range verb.rights {
				if !has(t, namespace, verb.role, right) {
					t.Errorf("%s needs %s, which %s does not have", verb.verb, right, verb.role)
				}
			}
		}
	}
}

// Who has none of the shipped kinds is asked about Deployments, and needs neither the CRDs
// nor the controller.
func TestRightsOfDeployments(t *testing.T) {
	t.Parallel()
	needed, err := neededRights("ns", nil)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[check.Right]*bool{}
	for _, verb := range needed {
		for _, right := range verb.rights {
			if !verb.setup && !slices.Contains([]string{"", "apps"}, right.Group) {
				t.Errorf("%s needs %s", verb.verb, right)
			}
			if answers[right] == nil {
				answers[right] = new(!verb.setup && right.Verb != "delete")
			}
		}
		if !verb.setup && verb.role != "" {
			t.Errorf("%s proposes the role %s, which does not cover Deployments", verb.verb, verb.role)
		}
	}
	for _, test := range []struct {
		declared []string
		setup    check.State
	}{{nil, check.Optional}, {[]string{"lamps.example.com"}, check.Failed}} {
		for _, result := range (&Doctor{Namespace: "ns", user: "jane", declared: test.declared}).checkRights(needed, answers) {
			want := check.Passed
			switch strings.TrimPrefix(result.Name, "permission to ") {
			case "delete":
				want = check.Failed
			case "install", "uninstall", "run-controller":
				want = test.setup
			}
			if result.State != want || (want == check.Passed) != (len(result.Fix) == 0) {
				t.Errorf("with %q: %+v, want %s", test.declared, result, want)
			}
		}
	}
}

// has reports whether the shipped role of people has a right; of other roles it is true.
func has(t *testing.T, namespace, role string, right check.Right) bool {
	t.Helper()
	if role != viewer && role != editor {
		return true
	}
	objs, err := deploy.Controller(deploy.Settings{Namespace: cmp.Or(namespace, "ns"), AllNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if obj.GetKind() != "ClusterRole" || obj.GetName() != role {
			continue
		}
		var rules rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &rules); err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules.Rules {
			if slices.Contains(rightsOf(right.Namespace, rule), right) {
				return true
			}
		}
	}
	return false
}

// One binding to an installed role takes the place of many commands.
func TestBindRoles(t *testing.T) {
	t.Parallel()
	needed := []verbRights{{verb: "scale", role: editor}, {verb: "status", role: viewer}, {verb: "install"}, {verb: "run-controller", role: controller}}
	failed := func(states ...check.State) (checks []check.Result) {
		for _, state := range states {
			result := check.Result{State: state}
			if state == check.Failed {
				result.Fix = []string{"as before"}
			}
			checks = append(checks, result)
		}
		return checks
	}
	const bad, good = check.Failed, check.Passed
	all := sets.New(viewer, editor, controller)
	for name, test := range map[string]struct {
		checks    []check.Result
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
		"may edit, everywhere": {failed(good, bad, bad, good), sets.New(viewer), "", []string{
			"", "kubectl create clusterrolebinding imoocpod-viewer-a-b --clusterrole=imoocpod-viewer --user=A:b", "as before", "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&Doctor{Namespace: test.namespace, user: "A:b"}).bindRoles(test.checks, needed, test.installed)
			for i, c := range test.checks {
				if got := strings.Join(c.Fix, "\n"); got != test.want[i] {
					t.Errorf("%s: %q, want %q", needed[i].verb, got, test.want[i])
				}
			}
		})
	}
	bot := &Doctor{Namespace: "ns", user: "system:serviceaccount:ci:bot"}
	if got := commandline.Context(nil).Line(bot.bind(viewer, "clusterrole")); !strings.Contains(got, " --serviceaccount=ci:bot ") {
		t.Errorf("a service account gets %q", got)
	}
}
